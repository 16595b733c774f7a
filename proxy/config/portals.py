"""What can be wrong with portals: what forwards stand for, what they open on demand, and ranges of exports.

As `checks`: each looks at the draft, skips what is unsound already, and notes what it finds.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

from proxy.config.addresses import Address
from proxy.config.mistakes import KeyPath, show_key
from proxy.config.ranges import PortRange
from proxy.config.reading import Draft

_KEYS = ("portal", "range", "ports", "idle", "rewrite")
_REWRITING = ("portal", "ports", "idle", "rewrite")
"""Keys that say by which address of this side a far portal is reached."""


def portals_differ(draft: Draft) -> None:
    """A portal that a peer's array names belongs to one forward only."""
    first: dict[tuple[str | None, str], KeyPath] = {}
    for where, portal in draft.column("forward", "portal").items():
        peer = draft.get(*where[:2], "peer")
        other = first.setdefault((peer, str(portal).lower()), where)
        if peer is not None and other != where:
            wrong = f"is the portal of forward[{other[1]}] to that peer as well"
            draft.wrong(where, wrong, "remove one of them")


def portals_need_iscsi(draft: Draft) -> None:
    """Keys of portals need iSCSI: addresses are replaced only where texts are understood."""
    for where, entry in draft.entries("forward"):
        for key in _REWRITING if _transparent(entry) else _KEYS:
            if key in entry and draft.get(*where, "protocol") == "tcp":
                draft.wrong((*where, key), 'means nothing with protocol = "tcp"', f"remove {key}, or protocol")


def ranges_have_ports(draft: Draft) -> None:
    """range and ports go together: forwards are opened on demand for addresses of the range, on these ports."""
    for where, entry in draft.entries("forward"):
        for key, other, remedy in (
            ("range", "ports", 'add ports = "3261-3276"'),
            ("ports", "range", 'add range = "10.1.0.0/24", the far array\'s addresses'),
            ("idle", "ports", "add range and ports"),
        ):
            if key in entry and other not in entry and not _transparent(entry):
                draft.wrong((*where, key), f"means nothing without {other}", f"{remedy}, or remove {key}")


def transparent_ones_have_a_range(draft: Draft) -> None:
    """A transparent forward has a range, which says where connections may go; it leaves addresses as they are, so it
    has no keys for rewriting."""
    for where, entry in draft.entries("forward"):
        if not _transparent(entry):
            continue
        if "range" not in entry:
            remedy = 'add range = "10.1.0.0/24", the far array\'s addresses, or remove transparent'
            draft.wrong((*where, "transparent"), "means nothing without range", remedy)
        for key in _REWRITING:
            if key in entry:
                draft.wrong((*where, key), "means nothing with transparent = true", f"remove {key}, or transparent")


def ports_are_free(draft: Draft) -> None:
    """No listener has an address that a forward may want on demand."""
    taken = listeners(draft)
    for where, own, ports in _on_demand(draft):
        for other, listen in taken.items():
            if ports.covers(listen.port) and own.shares_host(listen):
                draft.wrong(where, f"has the port of {show_key(other)} ({listen})", "leave that port out")
    for (_, one, first), (where, other, second) in combinations(_on_demand(draft), 2):
        if one.shares_host(other) and first.first <= second.last and second.first <= first.last:
            draft.wrong(where, f"has ports of another forward ({first})", "give each forward ports of its own")


def ranges_do_not_loop(draft: Draft) -> None:
    """An export whose range has a forward of the same site would send the bytes round for ever."""
    forwards = list(_of_forwards(draft))
    for where, covered in draft.column("export", "range").items():
        for name, listen, ports in forwards:
            if ports.covers(covered.port) and listen.ip is not None and listen.ip in covered.network:
                draft.wrong(
                    where,
                    f"has an address of {show_key(name)} of this site, which leads on to a peer",
                    "name the array's network",
                )


CHECKS: tuple[Callable[[Draft], None], ...] = (
    portals_differ,
    portals_need_iscsi,
    ranges_have_ports,
    transparent_ones_have_a_range,
    ports_are_free,
    ranges_do_not_loop,
)


def listeners(draft: Draft) -> dict[KeyPath, Address]:
    """All addresses that the site listens on from its start, by place."""
    single: tuple[KeyPath, ...] = (("tunnel", "listen"), ("status", "listen"))
    given = {where: draft.get(*where) for where in single if draft.get(*where) is not None}
    return given | draft.column("forward", "listen")


def _transparent(entry: Mapping[str, Any]) -> bool:
    return entry.get("transparent") is True


def _on_demand(draft: Draft) -> Iterator[tuple[KeyPath, Address, PortRange]]:
    """Forwards that open others: place of the ports, where it listens, the ports."""
    for where, ports in draft.column("forward", "ports").items():
        listen = draft.get(*where[:2], "listen")
        if listen is not None:
            yield where, listen, ports


def _of_forwards(draft: Draft) -> Iterator[tuple[KeyPath, Address, PortRange]]:
    """Addresses and ports that forwards listen on, or may listen on later: place, address, ports."""
    for where, listen in draft.column("forward", "listen").items():
        yield where, listen, PortRange(listen.port, listen.port)
    yield from _on_demand(draft)
