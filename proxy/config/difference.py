"""What of a site's file awaits a restart: all in which it differs from what runs, but for what a reload takes over."""

from collections.abc import Iterator

from proxy.config.model import Peer, Section, SiteConfig

_RELOADED = {"identity"}, {"certificate"}
"""Tables, and keys of peers, that are read anew without a restart."""


def awaiting_restart(running: SiteConfig, file: SiteConfig) -> tuple[str, ...]:
    """Keys and tables that differ, as one would look for them in the file: "tunnel.window", "forward array"."""
    old, new = dict(_parts(running)), dict(_parts(file))
    return tuple(name for name in old | new if old.get(name) != new.get(name))


def _parts(site: SiteConfig) -> Iterator[tuple[str, object]]:
    """All that the file says, or leaves at its default: the keys of tables, and of what there are several each one."""
    tables, keys = _RELOADED
    for name, field in type(site).model_fields.items():
        value = getattr(site, name)
        if isinstance(value, Section):
            yield from ((f"{name}.{key}", each) for key, each in value if name not in tables)
        else:
            for each in value:
                left_out = keys if isinstance(each, Peer) else None
                yield f"{field.alias} {each.name}", each.model_dump(exclude=left_out)
