"""What can be wrong between keys that are each sound by themselves.

Each check looks at the draft, skips what is missing or unsound (that is a mistake already), and notes what it finds.
"""

import os
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from proxy.config import listener, portals, rates
from proxy.config.addresses import Address
from proxy.config.listener import IPAddress
from proxy.config.mistakes import ABSENT, KeyPath, show_key
from proxy.config.reading import Draft, suggestion
from proxy.config.units import show_duration, show_size

PART_MIN = 1 << 20
"""Bytes of `tunnel.memory` and of `tunnel.unacked` that a peer needs."""


def check(draft: Draft) -> None:
    """Run all checks."""
    for one in CHECKS:
        one(draft)


def peers_are_there(draft: Draft) -> None:
    """A site without peers has nobody to talk to."""
    if draft.raw(("peer",)) in (ABSENT, []):
        draft.wrong(("peer",), "no peer is given", "add a [[peer]] section with name, certificate and address")


def names_differ(draft: Draft) -> None:
    """No two peers, forwards or exports have the same name, compared without regard to case, as in certificates."""
    for table in ("peer", "forward", "export"):
        first: dict[str, KeyPath] = {}
        for where, name in draft.column(table, "name").items():
            other = first.setdefault(name.lower(), where)
            if other != where:
                draft.wrong(where, f"is the name of {table}[{other[1]}] as well", f"give each {table} its own name")


def peers_are_others(draft: Draft) -> None:
    """No peer has this site's own name, or is dialled at this site. (By a forward to another peer it may be.)"""
    site = draft.get("site", "name")
    for where, name in draft.column("peer", "name").items():
        if site is not None and name.lower() == site.lower():
            draft.wrong(where, "is the name of this site itself", "write the other site's name")
    for where, address in draft.column("peer", "address").items():
        own = [("tunnel", "listen"), ("status", "listen"), *_forwards_to(draft, draft.get(*where[:2], "name"))]
        if same := [place for place in own if draft.get(*place) == address]:
            wrong = f"is {show_key(same[0])} of this site itself"
            draft.wrong(where, wrong, "write where the other site's tunnel.listen is reached")


def _forwards_to(draft: Draft, peer: str | None) -> list[KeyPath]:
    """Where those listen."""
    return [(*where[:2], "listen") for where, name in draft.column("forward", "peer").items() if name == peer]


def peers_are_known(draft: Draft) -> None:
    """Forwards and exports name peers of this file."""
    if isinstance(draft.raw(("peer",)), dict):  # [peer] in single brackets, which is noted as that
        return
    known = [entry["name"] for _, entry in draft.entries("peer") if isinstance(entry.get("name"), str)]
    named = draft.column("forward", "peer")
    for where, entry in draft.entries("export"):
        peers = entry.get("peers")
        named |= {(*where, "peers", at): name for at, name in enumerate(peers if isinstance(peers, list) else [])}
    for where, name in named.items():
        if isinstance(name, str) and name not in known:
            remedy = f"{suggestion(name, known)} (or add a [[peer]])" if known else "add a [[peer]] of that name"
            draft.wrong(where, "is not the name of a peer", remedy)


def peers_can_be_recognised(draft: Draft) -> None:
    """Every peer has a pinned certificate, or there is a private CA."""
    for where, entry in draft.entries("peer"):
        if "certificate" not in entry and draft.raw(("identity", "ca")) is ABSENT:
            draft.wrong((*where, "certificate"), "is missing", "name the peer's certificate file, or give identity.ca")


def somebody_dials(draft: Draft) -> None:
    """A site that waits for a peer to dial in needs a listener."""
    waited_for = [f"{where[0]}[{where[1]}]" for where, entry in draft.entries("peer") if "address" not in entry]
    if waited_for and draft.raw(("tunnel", "listen")) is ABSENT:
        wrong = f"is missing, but {', '.join(waited_for[:3])} has no address and must dial in"
        draft.wrong(
            ("tunnel", "listen"), wrong, 'add listen = "198.18.0.1:4500" to [tunnel], or an address to the peer'
        )


def listeners_differ(draft: Draft) -> None:
    """No two listeners want the same address and port."""
    for (first, one), (second, other) in combinations(portals.listeners(draft).items(), 2):
        if _clash(one, other):
            # The status listener may clash by its default, which the file does not have: the other key is reported.
            later, earlier = (second, first) if draft.raw(second) is not ABSENT else (first, second)
            wrong = f"clashes with {show_key(earlier)} ({draft.get(*earlier)})"
            draft.wrong(later, wrong, "give each listener an address or port of its own")


def exports_do_not_loop(draft: Draft) -> None:
    """An export that leads to a forward of the same site would send the bytes round for ever."""
    own = {listen.ip for listen in portals.listeners(draft).values()}
    for where, address in draft.column("export", "address").items():
        for forward, listen in draft.column("forward", "listen").items():
            if _clash(address, listen) and _is_here(address, own):
                draft.wrong(
                    where,
                    f"is {show_key(forward)} of this site, which leads on to a peer",
                    "write the array's own address",
                )


def times_are_in_order(draft: Draft) -> None:
    """A lane gets a PING before it is given up: keepalive < dead_after."""
    keepalive, dead_after = draft.get("tunnel", "keepalive"), draft.get("tunnel", "dead_after")
    if None not in (keepalive, dead_after) and dead_after <= keepalive:
        at = _given(draft, "tunnel", "dead_after", "keepalive")
        wrong = f"leaves keepalive ({show_duration(keepalive)}) no time before dead_after ({show_duration(dead_after)})"
        draft.wrong(at, wrong, "make dead_after longer than keepalive, four times is good")


def memory_holds_a_window(draft: Draft) -> None:
    """All streams together have at least the memory that one may use: window <= memory."""
    window, memory = draft.get("tunnel", "window"), draft.get("tunnel", "memory")
    if None not in (window, memory) and window > memory:
        at = _given(draft, "tunnel", "memory", "window")
        wrong = f"leaves one stream a window ({show_size(window)}) above the memory of all ({show_size(memory)})"
        draft.wrong(at, wrong, "make memory at least as large as window")


def peers_have_their_parts(draft: Draft) -> None:
    """memory and unacked are divided among the peers, and each peer needs `PART_MIN` of both."""
    peers = len(list(draft.entries("peer")))
    for key in ("memory", "unacked"):
        whole = draft.get("tunnel", key)
        if whole is not None and whole < peers * PART_MIN:
            wrong = f"is less than {show_size(PART_MIN)} for each of {peers} peers"
            draft.wrong(("tunnel", key), wrong, f'write at least "{show_size(peers * PART_MIN)}"')


def chunks_are_in_order(draft: Draft) -> None:
    """Twice minimum <= average <= maximum."""
    minimum, average, maximum = (draft.get("chunking", key) for key in ("minimum", "average", "maximum"))
    if None not in (minimum, average) and average < 2 * minimum:
        wrong = f"leaves average ({show_size(average)}) less than twice minimum ({show_size(minimum)})"
        draft.wrong(_given(draft, "chunking", "minimum", "average"), wrong, "keep minimum at most half of average")
    if None not in (average, maximum) and average > maximum:
        wrong = f"puts average ({show_size(average)}) above maximum ({show_size(maximum)})"
        draft.wrong(_given(draft, "chunking", "average", "maximum"), wrong, "keep average <= maximum")


def _given(draft: Draft, section: str, first: str, second: str) -> KeyPath:
    """The key to report: the first of two if the file has it; otherwise the second, since the first has its default."""
    return section, first if draft.raw((section, first)) is not ABSENT else second


def store_has_its_place(draft: Draft) -> None:
    """A disk store has a path, and a store with a path says its mode."""
    path, mode = draft.raw(("store", "path")), draft.raw(("store", "mode"))
    if mode == "disk" and path is ABSENT:
        draft.wrong(("store", "path"), "is missing, but mode is disk", 'add path = "store" to [store]')
    if mode is ABSENT and path is not ABSENT:
        draft.wrong(("store", "mode"), "is missing, but a path is given", 'add mode = "disk" (or "memory") to [store]')


def history_has_a_file_of_its_own(draft: Draft) -> None:
    """No other key names the history file: it is written to, and set aside when it is damaged."""
    where = ("status", "history")
    history = draft.get(*where)
    if history is None:
        return
    others = {at: value for at, value in draft.values.items() if isinstance(value, Path) and at != where}
    named = [f"the same file as {show_key(at)}" for at, value in others.items() if _same(value, history)]
    named += ["this file itself"] if _same(draft.source, history) else []
    for other in named:
        draft.wrong(where, f"names {other}", 'name one of its own, such as "history.db"')


CHECKS: tuple[Callable[[Draft], None], ...] = (
    peers_are_there,
    names_differ,
    peers_are_others,
    peers_are_known,
    peers_can_be_recognised,
    somebody_dials,
    listeners_differ,
    exports_do_not_loop,
    *listener.CHECKS,
    times_are_in_order,
    memory_holds_a_window,
    peers_have_their_parts,
    chunks_are_in_order,
    store_has_its_place,
    history_has_a_file_of_its_own,
    *portals.CHECKS,
    *rates.CHECKS,
)


def _clash(one: Address, other: Address) -> bool:
    return one.port == other.port and one.shares_host(other)


def _is_here(address: Address, own: set[IPAddress | None]) -> bool:
    """Whether the address is this host's, as far as the file tells. A listener on all addresses, such as a transparent
    forward's, shares its port with any address, but not with other hosts."""
    ip = address.ip
    return ip is not None and (ip in own or ip.is_loopback or ip.is_unspecified)


def _same(one: Path, other: Path) -> bool:
    """Whether both paths are the same. Links are not followed, so no disk is asked."""
    return os.path.abspath(one) == os.path.abspath(other)
