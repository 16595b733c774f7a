"""What differs between a site's file and what runs, and what of that a running site can take over."""

from collections.abc import Iterator
from dataclasses import dataclass

from proxy.config.model import Export, Forward, Peer, Section, SiteConfig

_SHARE = {"priority", "guarantee", "maximum", "burst", "dscp"}
"""Keys of forwards and exports that say what these are granted, and nothing of where they lead."""
_TRUST = {"certificate"}
"""Of peers: like the table `identity` it is read anew in any case."""
_LEVEL = "log.level"
"""The one key of a table of which there is one that a running site takes over."""
_RATES = {"rate", "schedule"}
"""Of peers: what they are granted."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Keys and tables, as one would look for them in the file: "tunnel.window", "forward array"."""

    at_once: tuple[str, ...]
    """Those that a running site can take over."""
    restart: tuple[str, ...]
    """Those that only a restart takes over."""


def difference(running: SiteConfig, file: SiteConfig) -> Difference:
    """All in which the file differs from what runs, but for identity and trust."""
    old, new = dict(_parts(running)), dict(_parts(file))
    differing = [name for name in old | new if old.get(name) != new.get(name)]
    blocked = set(_blocked(running, file))
    restart = [name for name in differing if name in blocked or _fixed(old.get(name)) != _fixed(new.get(name))]
    return Difference(tuple(name for name in differing if name not in restart), tuple(restart))


def leads_elsewhere(old: Forward | Export, new: Forward | Export | None) -> bool:
    """True if connections that go by the old table would not go the same way by the new one. (Whether an export is
    still for a peer is asked apart.)"""
    left_out = _SHARE | {"peers"}
    return new is None or old.model_dump(exclude=left_out) != new.model_dump(exclude=left_out)


def ending(running: SiteConfig, file: SiteConfig) -> Iterator[tuple[str, str]]:
    """Peers, each with a forward or export ("forward array") of which the peer's connections could not be made by the
    file, or would lead elsewhere."""
    forwards = {each.name: each for each in file.forwards}
    exports = {each.name: each for each in file.exports}
    for forward in running.forwards:
        if leads_elsewhere(forward, forwards.get(forward.name)):
            yield forward.peer, f"forward {forward.name}"
    for export in running.exports:
        new = exports.get(export.name)
        for peer in export.peers:
            if new is None or peer not in new.peers or leads_elsewhere(export, new):
                yield peer, f"export {export.name}"


def _blocked(running: SiteConfig, file: SiteConfig) -> Iterator[str]:
    """Forwards whose new address cannot be had while a former one is listened on, such as 0.0.0.0 for 127.0.0.1."""
    for new in file.forwards:
        for old in running.forwards:
            if new.listen != old.listen and new.listen.port == old.listen.port and new.listen.shares_host(old.listen):
                yield f"forward {new.name}"


_Part = tuple[object, object]
"""What only a restart takes over, and what a running site does."""


def _fixed(part: _Part | None) -> object:
    return None if part is None else part[0]


def _parts(site: SiteConfig) -> Iterator[tuple[str, _Part]]:
    """All that the file says, or leaves at its default: the keys of tables, and of what there are several each one."""
    for name, field in type(site).model_fields.items():
        value = getattr(site, name)
        if not isinstance(value, Section):
            yield from ((f"{field.alias} {each.name}", _part_of(each)) for each in value)
        elif name != "identity":
            keys = ((f"{name}.{key}", each) for key, each in value)
            yield from ((key, (None, each) if key == _LEVEL else (each, None)) for key, each in keys)


def _part_of(table: Peer | Forward | Export) -> _Part:
    if isinstance(table, Peer):
        return table.model_dump(exclude=_TRUST | _RATES), table.model_dump(include=_RATES)
    return None, table.model_dump()
