"""The watch: keeps what outlasts a snapshot. It is fed with one once a second; the API asks it at any time."""

from proxy.figures import A_WHILE
from proxy.observe import codes
from proxy.observe.answers import Caution, HealthAnswer
from proxy.observe.cautions import Cautions
from proxy.observe.chronicle import Chronicle
from proxy.observe.health import Ladder
from proxy.observe.history import History
from proxy.observe.journal import Journal
from proxy.observe.readings import counters, store_counter
from proxy.observe.snapshot import Snapshot
from proxy.observe.trend import Trend

_HOUR = 3600.0
_EVICTED = store_counter("evicted_bytes")
STANDSTILL = 5.0
"""Seconds between two notes, normally one, above which the site stood still: it or its host was stopped, or its loop
was busy."""
_CLOCK_WAS_SET = 60.0
"""If the time of day moves so many seconds more or less than the monotonic clock between two notes, it was set."""
_BUSY = 0.5
"""Share of a core: a process that used more was not stopped."""


class Watch:
    """Loop thread."""

    def __init__(self, journal: Journal, history: History, snapshot: Snapshot) -> None:
        """`snapshot`: the site as it begins."""
        self.journal = journal
        self.history = history
        self.snapshot = snapshot
        """The last one that it was fed with; of streams it says only how many there are."""
        self.cautions: list[Caution] = []
        self._ladder = Ladder()
        self._found = Cautions()
        self._chronicle = Chronicle(journal)
        self._trend = Trend(A_WHILE)
        self._evicted = Trend(_HOUR)
        self._refused = 0
        self._noted_at: float | None = None
        self._ahead: float | None = None  # the time of day less the monotonic clock, in seconds
        history.begin(snapshot)
        self._feed(history.clock)  # so that the first second counts
        self.health: HealthAnswer = self._ladder.climb(snapshot, self._trend, snapshot.started)

    def note(self, snapshot: Snapshot, now: float, clock: float) -> None:
        """One more second. `now`: seconds since 1970; `clock`: of a monotonic clock."""
        self.snapshot = snapshot
        self._note_pause(now, clock)
        self._follow(now - clock)
        self.history.note(snapshot, self._feed(clock), now, clock)
        self.health = self._ladder.climb(snapshot, self._trend, now, self.history.problem)
        self.cautions = self._found.find(snapshot, self._trend, now, clock)
        if refused := snapshot.refused - self._refused:
            many = "1 connection" if refused == 1 else f"{refused} connections"
            words = f"{many} to the tunnel listener refused: {snapshot.last_refusal}"
            self.journal.note(codes.REFUSED, "tunnel listener", words, now)
        self._refused = snapshot.refused
        self._chronicle.note(snapshot, self.health, self.cautions, now, clock)

    def _note_pause(self, now: float, clock: float) -> None:
        """If the site stood still, note that before anything else of this second, which it may explain."""
        before, self._noted_at = self._noted_at, clock
        if before is not None and clock - before > STANDSTILL:
            busy = self.snapshot.processor_share > _BUSY
            why = "its event loop was busy with one thing" if busy else "it was stopped, or its host was"
            self.journal.note(codes.STOOD_STILL, "site", f"the site stood still for {clock - before:.0f} s: {why}", now)

    def _follow(self, ahead: float) -> None:
        """If the time of day was set, move along since when things hold: they have held for as long as before."""
        step = 0.0 if self._ahead is None else ahead - self._ahead
        self._ahead = ahead
        if abs(step) > _CLOCK_WAS_SET:
            self._ladder.shift(step)
            self._found.shift(step)

    def _feed(self, clock: float) -> dict[str, float]:
        """Feed the trends with the snapshot's counters, which they share with the history."""
        row = counters(self.snapshot)
        self._trend.note(row, clock)
        self._evicted.note({_EVICTED: row[_EVICTED]}, clock)
        return row

    def replaced_last_hour(self, snapshot: Snapshot) -> int:
        """Chunk bytes that the store evicted in the hour before the snapshot, which may be newer than the last note."""
        since = snapshot.store.evicted_bytes - self._evicted.last(_EVICTED)
        return round(since + self._evicted.rise(_EVICTED, _HOUR))
