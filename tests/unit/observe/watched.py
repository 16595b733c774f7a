"""A site that is watched: a snapshot each second goes in; health, events and warnings come out. No clock runs."""

from proxy.observe.answers import Event, Level
from proxy.observe.chronicle import reasons_of
from proxy.observe.history import History
from proxy.observe.journal import EVENTS_MAX, Journal
from proxy.observe.snapshot import Snapshot
from proxy.observe.watch import Watch
from tests.unit.observe.snapshots import NOW, changed, of_peer, share, traffic, with_peer

MIB = 1 << 20


class Site:
    """A watch that is fed once a second."""

    def __init__(self, first: Snapshot | None = None) -> None:
        first = first or changed()
        self.seconds = 0
        self.watch = Watch(Journal(), History(0.0), first)
        self.pass_(first)

    def pass_(self, snapshot: Snapshot, seconds: int = 1) -> None:
        for _ in range(seconds):
            self.seconds += 1
            self.watch.note(snapshot, NOW + self.seconds, float(self.seconds))

    @property
    def events(self) -> list[Event]:
        """Oldest first."""
        return self.watch.journal.after(0, EVENTS_MAX).events

    @property
    def told(self) -> list[str]:
        """Their codes."""
        return [event.code for event in self.events]

    def said(self, code: str) -> list[Event]:
        """Those with that code."""
        return [event for event in self.events if event.code == code]

    @property
    def level(self) -> Level:
        return self.watch.health.level

    @property
    def words(self) -> str:
        return self.watch.health.words

    @property
    def reasons(self) -> list[str]:
        return [reason.code for _, reason in reasons_of(self.watch.health)]

    @property
    def warned(self) -> list[str]:
        """Codes of the warnings that hold."""
        return [caution.code for caution in self.watch.cautions]


def moving(seconds: int, left: float = 1.001, *, spared: float = 0.0, relieved: float = 0.0) -> Snapshot:
    """For so long a forward has moved 10 MiB of new data a second, of which these parts were left, spared, relieved."""
    raw = 10 * seconds * MIB
    counts = {
        "raw": raw,
        "after_deduplication": raw,
        "after_compression": round(raw * left),
        "spared": round(raw * spared),
        "relieved": round(raw * relieved),
    }
    return with_peer(shares=[share(bytes=traffic(**counts))], bytes=of_peer(**counts))
