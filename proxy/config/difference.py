"""What differs between a site's file and what runs, and what of that a running site can take over."""

from collections.abc import Iterator
from dataclasses import dataclass

from proxy.config.model import Export, Forward, Section, SiteConfig

_SHARE = {"priority", "guarantee", "maximum", "burst", "dscp"}
"""Keys of forwards and exports that say what these are granted, and nothing of where they lead."""
_TRUST = {"certificate"}
"""Of peers: like the table `identity` it is read anew in any case."""
_AT_ONCE = {
    "log.level",
    *(f"tunnel.{lane}" for lane in ("congestion_control", "lanes")),
    *(f"tunnel.{size}" for size in ("memory", "unacked", "window")),
    *(f"tunnel.{time}" for time in ("connect_timeout", "dead_after", "drain", "grace", "keepalive", "reconnect_max")),
}
"""Keys of tables of which there is one that a running site takes over."""


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
    restart = [name for name in differing if name in blocked or _fixed(name)]
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


def _fixed(name: str) -> bool:
    """Only a restart takes it over: a key of a table of which there is one, so that no name stands behind a space."""
    return " " not in name and name not in _AT_ONCE


def _parts(site: SiteConfig) -> Iterator[tuple[str, object]]:
    """All that the file says, or leaves at its default: the keys of tables, and of what there are several each one."""
    for name, field in type(site).model_fields.items():
        value = getattr(site, name)
        if not isinstance(value, Section):
            yield from ((f"{field.alias} {each.name}", each.model_dump(exclude=_TRUST)) for each in value)
        elif name != "identity":
            yield from ((f"{name}.{key}", each) for key, each in value)
