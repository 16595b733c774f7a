"""Turns states into events: notes one event for each change from one second's snapshot to the next."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from proxy.figures import A_WHILE
from proxy.observe import codes
from proxy.observe.answers import Caution, HealthAnswer, Level, PeerHealth, Reason
from proxy.observe.codes import code_named
from proxy.observe.journal import Journal
from proxy.observe.snapshot import PeerStatus, Snapshot
from proxy.observe.trend import A_MINUTE
from proxy.observe.wording import number_of_streams
from proxy.text import likewise

_TOLD_ELSEWHERE = {code.code for code in (codes.TUNNEL_DOWN, codes.PEER_ENDED, codes.DRAINING, codes.RELOAD_FAILED)}
"""Reasons that `_conditions` makes no event of: it would miss those that last less than a second. The tunnel's come
from counters (`_peer`), the others from the site itself."""
REPEATED = "none: the arrays connect again and repeat what has no status"
"""For streams that were reset by an end in order."""
_STORE_TROUBLES = {codes.STORE_ALARM.code, codes.STORE_SET_ASIDE.code}

Key = tuple[str, str, str, str]
"""Subject, code, what it is about, and level."""
Held = dict[Key, tuple[str, str]]
"""Words and remedy of each condition that holds."""


class Chronicle:
    """Fed once a second with what was found; writes into the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._before: dict[str, PeerStatus] | None = None
        self._held: Held = {}
        self._lately: dict[Key, float] = {}  # when conditions that come and go held last, by the monotonic clock
        self._missing: set[str] = set()  # peers whose tunnel is down, and an event has said so

    def note(self, snapshot: Snapshot, health: HealthAnswer, cautions: list[Caution], now: float, clock: float) -> None:
        """Note what has changed in the last second. `now`: seconds since 1970; `clock`: of a monotonic clock."""
        before, self._before = self._before or {}, {peer.name: peer for peer in snapshot.peers}
        self._missing &= self._before.keys()
        for peer, of_peer in zip(snapshot.peers, health.peers, strict=True):
            self._peer(before.get(peer.name), peer, of_peer, now)
        ailed = _store_ails(self._lately)
        self._lately = {key: held for key, held in self._lately.items() if clock - held < _rest(key[1])}
        self._conditions(health, cautions, now)
        self._lately |= {key: clock for key in self._held if _rest(key[1])}
        if ailed and not _store_ails(self._lately):
            self._journal.note(codes.STORE_WELL, "store", "the store's trouble has been over for a minute", now)

    def _peer(self, before: PeerStatus | None, peer: PeerStatus, health: PeerHealth, now: float) -> None:
        """Note a tunnel's changes in the order in which they must have happened: the last event is what holds now."""
        note, subject = self._journal.note, f"peer {peer.name}"
        outages, resumed, resets = (before.outages, before.resumed, before.tunnel_resets) if before else (0, 0, 0)
        ends = peer.shutdowns - (before.shutdowns if before else 0)
        is_up, was_up = peer.state == "up", before is not None and before.state == "up"
        had_lanes = before is not None and bool(before.lanes)
        fell, late = peer.outages > outages, health.tunnel.level is Level.CRITICAL
        again = not is_up and peer.outages - outages > had_lanes  # a tunnel that came up meanwhile is lost
        in_order = fell and peer.outages - outages <= ends
        if had_lanes or not again:
            self._down(peer, health, now, holds=fell or late or (was_up and not is_up), in_order=in_order)
        if peer.tunnel_resets > resets:
            self._reset(peer.name, now, in_order=peer.tunnel_resets - resets <= ends)
        if peer.resumed > resumed:
            # A stream may have gone on and ended within this second.
            live = f" with {number_of_streams(peer.streams)}" if peer.streams else ""
            note(codes.RESUMED, subject, f"the tunnel to {peer.name} resumed{live}", now)
        elif again or (is_up and (fell or not was_up)):
            note(codes.TUNNEL_UP, subject, f"the tunnel to {peer.name} is up", now)
        if is_up or again:
            self._missing.discard(peer.name)
        self._down(peer, health, now, holds=again, in_order=in_order)

    def _down(self, peer: PeerStatus, health: PeerHealth, now: float, *, holds: bool, in_order: bool) -> None:
        """If it holds, note that there is no tunnel: once for each outage, and for one that the peer caused by ending
        in order only when it has not come back for a while."""
        if holds and in_order:
            self._missing.discard(peer.name)
            reason = f": {peer.farewell}" if peer.farewell else ""
            self._journal.note(codes.PEER_ENDED, f"peer {peer.name}", f"{peer.name} has ended in order{reason}", now)
        elif holds and peer.name not in self._missing:
            self._missing.add(peer.name)
            self._journal.note(codes.TUNNEL_DOWN, f"peer {peer.name}", _why_down(peer, health), now)

    def _reset(self, peer: str, now: float, *, in_order: bool) -> None:
        """Note that streams were reset; if the peer's end in order did that, no grace would have kept them."""
        why, remedy = (", because it ended in order", REPEATED) if in_order else ("", "")
        self._journal.note(
            codes.STREAMS_RESET, f"peer {peer}", f"the streams with {peer} were reset{why}", now, remedy=remedy
        )

    def _conditions(self, health: HealthAnswer, cautions: list[Caution], now: float) -> None:
        held: Held = {}
        for subject, reason in reasons_of(health):
            if reason.code not in _TOLD_ELSEWHERE:
                held[subject, reason.code, reason.about, reason.level] = reason.words, reason.remedy
        held |= {(caution.subject, caution.code, "", ""): (caution.words, caution.remedy) for caution in cautions}
        for key, (words, remedy) in held.items():
            if key not in self._held and key not in self._lately:
                self._journal.note(code_named(key[1]), key[0], words, now, remedy=remedy)
        self._held = held


def _store_ails(held: Iterable[Key]) -> bool:
    return any(code in _STORE_TROUBLES for _, code, _, _ in held)


def _rest(code: str) -> float:
    """Seconds for which a condition with that code must not have held to be told again; 0 if it is told each time.

    The store's troubles are among them, since a disk with a bad place or two fails, works and fails again many times a
    minute.
    """
    if code in _STORE_TROUBLES:
        return A_MINUTE
    return A_WHILE if code_named(code).recurs else 0.0


def _why_down(peer: PeerStatus, health: PeerHealth) -> str:
    """Why there is no tunnel, or was none for less than a second."""
    reasons = (reason.words for reason in health.tunnel.reasons if reason.code == codes.TUNNEL_DOWN.code)
    return next(reasons, f"the tunnel to {peer.name} was down: {peer.last_error or 'no lane was up'}")


def reasons_of(health: HealthAnswer) -> Iterator[tuple[str, Reason]]:
    """Every reason of the ladder with its subject, as events name it."""
    yield from (("site", reason) for reason in health.reasons)
    yield from (("store", reason) for reason in health.store.reasons)
    for peer in health.peers:
        subject = f"peer {peer.name}"
        yield from ((subject, reason) for reason in (*peer.reasons, *peer.tunnel.reasons, *_of_lanes(peer)))


def _of_lanes(peer: PeerHealth) -> Iterator[Reason]:
    """The lanes' reasons, with the lane named, since their words speak of "it" and an event's subject is the peer.

    Lanes that have the same fault at once are named together: that is one event, however many they are.
    """
    found: dict[tuple[str, Level], list[tuple[int, Reason]]] = {}
    for lane in peer.tunnel.lanes:
        for reason in lane.reasons:
            found.setdefault((reason.code, reason.level), []).append((lane.number, reason))
    for (number, reason), *others in found.values():
        others_too = likewise("lane", [other for other, _ in others])
        yield replace(reason, words=f"lane {number}: {reason.words}{others_too}")
