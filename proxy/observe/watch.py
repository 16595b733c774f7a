"""The watch: what is kept beyond the moment. Fed with a snapshot once a second, asked by the API at any time."""

from dataclasses import dataclass, field

from proxy.observe import codes
from proxy.observe.answers import Caution, HealthAnswer
from proxy.observe.cautions import Cautions
from proxy.observe.chronicle import Chronicle
from proxy.observe.health import A_WHILE, Ladder
from proxy.observe.history import History
from proxy.observe.journal import Journal
from proxy.observe.readings import counters, store_counter
from proxy.observe.snapshot import Snapshot
from proxy.observe.trend import Trend

_HOUR = 3600.0
_EVICTED = store_counter("evicted_bytes")
STOOD_STILL = 5.0
"""Seconds from one second to the next: the site, or its host, was stopped, or its loop was busy."""
_SET = 60.0
"""Seconds by which the time of day and the other clock part from one second to the next, if the former was set."""
_BUSY = 0.5
"""Of a core: nobody works that much who was stopped."""


@dataclass(slots=True)
class Watch:
    """Loop thread."""

    journal: Journal
    history: History
    snapshot: Snapshot
    """The last one that it was fed with."""
    health: HealthAnswer = field(init=False)
    cautions: list[Caution] = field(default_factory=list)
    _ladder: Ladder = field(default_factory=Ladder)
    _found: Cautions = field(default_factory=Cautions)
    _chronicle: Chronicle = field(init=False)
    _trend: Trend = field(default_factory=lambda: Trend(A_WHILE))
    _refused: int = 0
    _noted_at: float | None = None
    _ahead: float | None = None  # the time of day, of the other clock
    _evicted: Trend = field(default_factory=lambda: Trend(_HOUR))

    def __post_init__(self) -> None:
        self._chronicle = Chronicle(self.journal)
        self.history.begin(self.snapshot)
        self._feed(self.history.clock)  # so that the first second counts
        self.health = self._ladder.climb(self.snapshot, self._trend, self.snapshot.started)

    def note(self, snapshot: Snapshot, now: float, clock: float) -> None:
        """One more second. `now`: seconds since 1970; `clock`: of a monotonic clock."""
        self.snapshot = snapshot
        self._note_pause(now, clock)
        self._follow(now - clock)
        self._feed(clock)
        self.history.note(snapshot, now, clock)
        self.health = self._ladder.climb(snapshot, self._trend, now)
        self.cautions = self._found.find(snapshot, self._trend, now, clock)
        if refused := snapshot.refused - self._refused:
            many = "1 connection" if refused == 1 else f"{refused} connections"
            words = f"{many} to the tunnel listener refused: {snapshot.last_refusal}"
            self.journal.note(codes.REFUSED, "tunnel listener", words, now)
        self._refused = snapshot.refused
        self._chronicle.note(snapshot, self.health, self.cautions, now)

    def _note_pause(self, now: float, clock: float) -> None:
        """That came before all else that this second tells."""
        before, self._noted_at = self._noted_at, clock
        if before is not None and clock - before > STOOD_STILL:
            busy = self.snapshot.processor_share > _BUSY
            why = "its event loop was busy with one thing" if busy else "it was stopped, or its host was"
            self.journal.note(codes.STOOD_STILL, "site", f"the site stood still for {clock - before:.0f} s: {why}", now)

    def _follow(self, ahead: float) -> None:
        """Where the time of day was set, what holds has held for as long as before, by the new time."""
        step = 0.0 if self._ahead is None else ahead - self._ahead
        self._ahead = ahead
        if abs(step) > _SET:
            self._ladder.shift(step)
            self._found.shift(step)

    def _feed(self, clock: float) -> None:
        row = counters(self.snapshot)
        self._trend.note(row, clock)
        self._evicted.note({_EVICTED: row[_EVICTED]}, clock)

    def replaced_last_hour(self, snapshot: Snapshot) -> int:
        """Chunk bytes that the store evicted in the last hour."""
        return round(
            float(snapshot.store["evicted_bytes"]) - self._evicted.last(_EVICTED) + self._evicted.rise(_EVICTED, _HOUR)
        )
