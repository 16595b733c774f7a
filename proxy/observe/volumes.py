"""What is read and written on the volumes behind a peer, counted as this site sees it.

A command counts when its status passes: its bytes and its time if that is GOOD, else as failed. Whether it is
sequential shows when it begins. At most `VOLUMES_MAX` volumes are told apart. All others count as one, "others", and
the counts of volumes that have made room for newer ones are kept as one, "former". Volumes' names are an initiator's
words, so their number is bounded, too (`NAMES_MAX`). Nothing here knows iSCSI; the time is an argument, in seconds.
Loop thread.
"""

from collections import deque
from dataclasses import dataclass

from proxy.observe.histogram import Histogram

VOLUMES_MAX = 32
"""Volumes of a peer that are told apart: arrays replicate 16 at once. Each is 45 series and half a millisecond of the
loop's time whenever Prometheus asks."""
NAMES_MAX = 256
"""Volumes of a peer that are ever told apart. Each leaves series where metrics are kept, long after it made room."""
SIZES = tuple(512 << n for n in range(14))
"""Bounds in bytes: 512 to 4 MiB."""
SECONDS = tuple(2**n / 2000 for n in range(16))
"""Bounds in seconds: 0.5 ms to 16.4 s."""
RUNS_MAX = 16
"""Ends of commands that are remembered: so many sequential readers or writers of one volume are known as such."""
BUSIEST_SECONDS = 10
"""Seconds that a rate is taken over."""


@dataclass(frozen=True, slots=True)
class VolumeName:
    """Which volume: text that is fit for a terminal, and bounded, by whoever makes it."""

    share: str
    """ "forward replication", "export array"."""
    target: str
    unit: str


OTHERS = VolumeName("", "others", "")
"""All volumes that are not told apart; no real one has this name, since all have a share."""
FORMER = VolumeName("", "former", "")
"""All volumes that were told apart and have made room, with what was counted until then. These counts are not added to
the others': in the rate of those counters a volume's whole past would show as one moment."""


class Commands:
    """Reads, or writes, of one volume."""

    __slots__ = ("_ends", "failed", "random", "seconds", "sequential", "sizes")

    def __init__(self) -> None:
        self.sizes = Histogram(SIZES)
        """Bytes of those that ended well."""
        self.seconds = Histogram(SECONDS)
        """From command to status, of those that ended well."""
        self.failed = 0
        """Those that ended with another status than GOOD."""
        self.sequential = 0
        """Those that began where one of the last ended."""
        self.random = 0
        """All others that began."""
        self._ends: dict[int, None] = {}  # the oldest first

    def began(self, byte: int, length: int) -> None:
        """One has begun, at that byte of the volume."""
        ends = self._ends
        if byte in ends:
            del ends[byte]
            self.sequential += 1
        else:
            self.random += 1
        ends[byte + length] = None
        if len(ends) > RUNS_MAX:
            del ends[next(iter(ends))]

    def ended(self, length: int, seconds: float, *, good: bool) -> None:
        """One has its status."""
        if not good:
            self.failed += 1
            return
        self.sizes.note(length)
        self.seconds.note(seconds)

    def add(self, other: "Commands") -> None:
        """Add another's counts to these."""
        self.sizes.add(other.sizes)
        self.seconds.add(other.seconds)
        self.failed += other.failed
        self.sequential += other.sequential
        self.random += other.random


class Rate:
    """The rate of a count that grows, a second: over the last ten seconds, and over the busiest ten so far."""

    __slots__ = ("_first", "_readings", "busiest", "now")

    def __init__(self) -> None:
        self.now = 0.0
        """A second, over the last ten."""
        self.busiest = 0.0
        self._first = 0.0  # the count before any reading
        self._readings: deque[tuple[float, float]] = deque(maxlen=BUSIEST_SECONDS + 1)

    def note(self, count: float, now: float) -> None:
        """A reading, about once a second. The count began at 0, or at what `add` has brought before."""
        if not self._readings:
            self._readings.append((self._first, now))
        self._readings.append((count, now))
        former, before = self._readings[0]
        self.now = (count - former) / max(now - before, BUSIEST_SECONDS)
        self.busiest = max(self.busiest, self.now)

    def add(self, other: "Rate", count: float) -> None:
        """From now on the count includes what another had come to, `count`; that does not show as a sudden rise."""
        self._first += count
        self._readings = deque(((former + count, before) for former, before in self._readings), BUSIEST_SECONDS + 1)
        self.busiest = max(self.busiest, other.busiest)


class Volume:
    """One volume, as reached by one forward or export."""

    __slots__ = ("connections", "dropped", "name", "outstanding", "outstanding_peak", "reads", "writes", "written")

    def __init__(self, name: VolumeName) -> None:
        self.name = name
        self.reads = Commands()
        self.writes = Commands()
        self.outstanding = 0
        """Reads and writes without a status, now."""
        self.outstanding_peak = 0
        self.dropped = 0
        """Reads and writes that had no status: aborted, or their connection ended."""
        self.connections = 0
        """Live ones that have read or written here."""
        self.written = Rate()
        """Bytes of writes."""

    @property
    def bytes(self) -> float:
        """Read and written."""
        return self.reads.sizes.total + self.writes.sizes.total

    def began(self, commands: Commands, byte: int, length: int) -> None:
        """A read or a write has begun; `commands` is the one of `reads` and `writes` that it belongs to."""
        commands.began(byte, length)
        self.outstanding += 1
        self.outstanding_peak = max(self.outstanding_peak, self.outstanding)

    def ended(self, commands: Commands, length: int, seconds: float, *, good: bool) -> None:
        """A command that has begun has its status."""
        self.outstanding -= 1
        commands.ended(length, seconds, good=good)

    def drop(self) -> None:
        """A command that has begun will have no status."""
        self.outstanding -= 1
        self.dropped += 1

    def add(self, other: "Volume") -> None:
        """Add the counts of a volume that no connection uses."""
        self.written.add(other.written, other.writes.sizes.total)
        self.reads.add(other.reads)
        self.writes.add(other.writes)
        self.dropped += other.dropped
        self.outstanding_peak = max(self.outstanding_peak, other.outstanding_peak)


class Volumes:
    """Those of one peer. What was counted stays when connections end; sums over all volumes never fall."""

    def __init__(self) -> None:
        self.others = Volume(OTHERS)
        self.former: Volume | None = None
        """None until one has made room."""
        self.written = Rate()
        """Bytes of writes to all of them."""
        self._told_apart: dict[VolumeName, Volume] = {}
        self._names: set[VolumeName] = set()  # that have been told apart

    def find(self, name: VolumeName) -> Volume:
        """The volume of that name, or the others if it is not told apart. `enter` it at once: until then, it may have
        to make room."""
        return self._told_apart.get(name) or self._new(name)

    def enter(self, volume: Volume) -> None:
        """A connection begins to use a volume: called once for each that it reads or writes."""
        volume.connections += 1

    def leave(self, volume: Volume) -> None:
        """The connection has ended."""
        volume.connections -= 1

    def sample(self, now: float) -> None:
        """About once a second: brings rates up to date."""
        volumes = self.all()
        for volume in volumes:
            volume.written.note(volume.writes.sizes.total, now)
        self.written.note(sum(volume.writes.sizes.total for volume in volumes), now)

    @property
    def average_write(self) -> float:
        """Bytes; 0 if nothing has been written."""
        sizes = Histogram(SIZES)
        for volume in self.all():
            sizes.add(volume.writes.sizes)
        return sizes.mean

    def all(self) -> list[Volume]:
        """The one with the most bytes first, the others last, and behind them the former ones if there are any."""
        told_apart = sorted(self._told_apart.values(), key=lambda volume: volume.bytes, reverse=True)
        former = [self.former] if self.former else []
        return [*told_apart, self.others, *former]

    def _new(self, name: VolumeName) -> Volume:
        """Tell one more apart, or give the others. If there are too many, the one with the fewest bytes, of those that
        no connection uses, makes room."""
        if name not in self._names and len(self._names) >= NAMES_MAX:
            return self.others
        if len(self._told_apart) >= VOLUMES_MAX:
            idle = [volume for volume in self._told_apart.values() if not volume.connections]
            if not idle:
                return self.others
            least = min(idle, key=lambda volume: volume.bytes)
            self.former = self.former or Volume(FORMER)
            self.former.add(self._told_apart.pop(least.name))
        self._names.add(name)
        volume = self._told_apart[name] = Volume(name)
        return volume
