"""Warnings: what works, but gains less than an operator would expect, with the figures.

Each is found in what changed over the last ten minutes or the last minute, or in a verdict; those about reduction only
where enough moved for their figures to mean something.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass

from proxy import figures
from proxy.figures import A_WHILE, byte_rate, size
from proxy.observe import codes
from proxy.observe.answers import Caution
from proxy.observe.codes import Code
from proxy.observe.readings import held_counter, limited_counter, peer_counter, share_counter, store_counter
from proxy.observe.snapshot import PeerStatus, ShareStatus, Snapshot
from proxy.observe.store_report import larger_stores
from proxy.observe.trend import A_MINUTE, Trend
from proxy.observe.verdict import SATURATED, TURNS_WORDS, Limit

LEAST_BYTES = 64 << 20
"""Plain bytes in ten minutes below which there is no warning about a forward's or export's reduction, nor about what a
peer's store could not give."""
NOTHING_GAINED = 0.97
"""Share of the plain bytes: if reduction leaves that much or more, it gained nothing."""
SPARED = 0.1
"""Share of the plain bytes: if more than that were, for speed, not compressed or not referred to, nobody knows what
reduction would have gained."""
HELD = 0.5
"""Share of the last minute for which a rate has to hold data back; time before the site's start counts as without."""
LIMITED = 0.5
"""Share of the time that a verdict has to give to its limit."""
EVICTED_AGAIN = 0.05
"""Share of all look-ups that one of the larger stores of the estimate would have to answer beyond this one's hits."""
STEADY = 30.0
"""Seconds for which a verdict has to hold: shorter ones come and go with every volume."""
LAPSE = 5.0
"""Seconds for which it may meanwhile be another: a share of the time near `LIMITED` is now above it, now below."""


@dataclass(frozen=True, slots=True)
class _Found:
    code: Code
    subject: str
    words: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.code.code, self.subject


class Cautions:
    """Finds the warnings that hold, and remembers since when each does. Fed once a second."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], tuple[float, float]] = {}  # time of day, monotonic clock
        self._lately: dict[tuple[str, str], tuple[float, _Found]] = {}  # by a verdict: when, and what
        self._suspended: dict[str, float] = {}  # when references to a peer were last suspended, by the monotonic clock

    def shift(self, seconds: float) -> None:
        """The time of day was set, by so many seconds: move what is remembered along."""
        self._since = {key: (when + seconds, clock) for key, (when, clock) in self._since.items()}

    def find(self, snapshot: Snapshot, trend: Trend, now: float, clock: float) -> list[Caution]:
        """The warnings that hold; those by a verdict or a busy process only once they have held for `STEADY`, but for
        lapses.

        `now`: seconds since 1970; `clock`: of a monotonic clock.
        """
        self._suspended |= {peer.name: clock for peer in snapshot.peers if peer.references_suspended}
        literal = {name for name, last in self._suspended.items() if clock - last < A_WHILE}
        small = list(_store(snapshot, trend))
        unreduced = [] if small else _unreduced(snapshot, trend, literal)  # a larger store would find what repeats
        found = [*unreduced, *_shaped(snapshot, trend), *small, *_relieved(snapshot, trend)]
        lately = self._lately | {each.key: (clock, each) for each in _by_verdict(snapshot)}
        self._lately = {key: (last, each) for key, (last, each) in lately.items() if clock - last <= LAPSE}
        brief = [each for _, each in self._lately.values()]
        self._since = {each.key: self._since.get(each.key, (now, clock)) for each in (*found, *brief)}
        held = [each for each in brief if clock - self._since[each.key][1] >= STEADY]
        return [Caution(*each.key, each.words, each.code.remedy, self._since[each.key][0]) for each in (*found, *held)]


def _unreduced(snapshot: Snapshot, trend: Trend, literal: Set[str]) -> Iterator[_Found]:
    """`literal`: peers to which references were suspended of late, so that what repeats went as literals, too."""
    unknown = {share.name for peer in snapshot.peers if peer.name in literal for share in peer.shares}
    names = dict.fromkeys(share.name for peer in snapshot.peers for share in peer.shares if share.name not in unknown)
    for name in names:
        raw = trend.rise(share_counter(name, "raw"), A_WHILE)
        if raw < LEAST_BYTES:  # as with most of a hub's hundreds of shares
            continue
        deduplicated, compressed, spared, relieved = (
            trend.rise(share_counter(name, what), A_WHILE)
            for what in ("after_deduplication", "after_compression", "spared", "relieved")
        )
        if spared + relieved <= SPARED * raw and compressed >= NOTHING_GAINED * raw:
            known = max(0.0, 1 - deduplicated / raw)
            shrunk = max(0.0, 1 - compressed / deduplicated) if deduplicated else 0.0
            words = f"of {size(raw)} in ten minutes {known:.1%} was known, and the rest compressed by {shrunk:.1%}"
            yield _Found(codes.NOT_REDUCED, name, f"{words}: it is compressed or encrypted already")


def _shaped(snapshot: Snapshot, trend: Trend) -> Iterator[_Found]:
    for peer in snapshot.peers:
        for share in peer.shares:
            if share.maximum_bits_per_second is None and peer.rate_bits_per_second is None:
                continue
            held = trend.rise(held_counter(peer.name, share.name), A_MINUTE) / A_MINUTE
            if held >= HELD:
                rate = _holding(peer, share, trend)
                shown = figures.rate(rate)
                words = f"a rate of {shown} to {peer.name} held data back for {held:.0%} of the last minute"
                yield _Found(codes.SHAPED, f"{share.name} to {peer.name}", words)


def _holding(peer: PeerStatus, share: ShareStatus, trend: Trend) -> int:
    """The rate that held the share back for most of that time: its own maximum, or the peer's rate."""
    own, rate = share.maximum_bits_per_second, peer.rate_bits_per_second
    held, limited = (trend.rise(name(peer.name, share.name), A_MINUTE) for name in (held_counter, limited_counter))
    return own if own is not None and (rate is None or 2 * limited >= held) else rate or 0


def _store(snapshot: Snapshot, trend: Trend) -> Iterator[_Found]:
    enough = next((each for each in larger_stores(snapshot.store) if each.more_hits >= EVICTED_AGAIN), None)
    if enough is not None and trend.rise(store_counter("evicted_bytes"), A_WHILE):
        words = f"a store of {size(enough.size_bytes)} would have answered {enough.more_hits:.1%} more of all look-ups"
        yield _Found(codes.STORE_SMALL, "store", words)


def _relieved(snapshot: Snapshot, trend: Trend) -> Iterator[_Found]:
    """Peers to which much went as literals because their stores are slow. It is over after two minutes without any:
    the rate that a store is said to give comes and goes, and relief may rest for one minute."""
    for peer in snapshot.peers:
        relieved, lately = (trend.rise(peer_counter(peer.name, "relieved"), span) for span in (A_WHILE, 2 * A_MINUTE))
        if relieved >= LEAST_BYTES and lately:
            words = f"{size(relieved)} that {peer.name} holds went literally in ten minutes"
            rate = peer.store_bytes_per_second
            given = byte_rate(rate) if rate else "too little"
            reason = f"its store gives {given} of what is referred to, and the line has room for more"
            yield _Found(codes.STORE_BEHIND, f"peer {peer.name}", f"{words}: {reason}")


def _by_verdict(snapshot: Snapshot) -> Iterator[_Found]:
    for peer in snapshot.peers:
        code = _limited(peer)
        if code is not None:
            yield _Found(code, f"peer {peer.name}", peer.verdict.words)
    if snapshot.processor_share >= SATURATED:
        yield _Found(codes.BUSY, "site", f"the event loop uses {snapshot.processor_share:.0%} of a core")


def _limited(peer: PeerStatus) -> Code | None:
    if peer.verdict.limit != Limit.WINDOW.value or peer.verdict.share < LIMITED:
        return None
    return codes.TURNS if peer.verdict.words.startswith(TURNS_WORDS) else codes.WINDOW_LIMITS
