"""Where the time goes: what each direction of a stream waits for, in nanoseconds that add up to all that has passed.

`TimeAccount` is told of changes of state; the time between two of them goes to the state that ends. Once a second it is
emptied into a `Spell`. `blend` makes one second of several directions or streams, and `Recent` keeps the last ten.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

SECOND = 10**9
RECENT = 10
"""Seconds that a verdict is about."""
BLOCKED_BYTES = 256 << 10
"""A direction that was held up for a whole second weighs as if it had moved so much: more than silence or a trickle,
less than bulk."""


class Waiting(StrEnum):
    """What a direction of a stream waits for, or does. The values are labels of metrics."""

    SOURCE = "source"
    """Outward: the array here sends nothing."""
    ANSWER = "answer"
    """Outward: the array here waited for an answer, and sent more when that had come."""
    CPU = "cpu"
    """For nothing: this process works on its data."""
    STORE = "store"
    """For the disk of this site's store."""
    LINE = "line"
    """Outward: the line takes no more at present."""
    SHAPING = "shaping"
    """Outward: a configured `rate` or `maximum` holds its data back."""
    WINDOW = "window"
    """Outward: the window is full (`tunnel.window`, `tunnel.memory`), and most of that is on its way."""
    UNACKED = "unacked"
    """Outward: `tunnel.unacked` is used up; the peer has to acknowledge what was sent."""
    FAR_ARRAY = "far_array"
    """Outward: the window is full, and most of that has arrived at the far site and waits for the array there."""
    OUTAGE = "outage"
    """For a lane: none is up, or nothing is heard on any."""
    PEER = "peer"
    """Inward: nothing comes from the peer."""
    ARRAY = "array"
    """Inward: the array here takes no more, or is still being connected."""
    FILL = "fill"
    """Inward: for chunks that this site's store lacks, and that the peer was asked for."""


Times = Mapping[Waiting, int]
"""Nanoseconds; what is missing is 0."""

IDLE = (Waiting.SOURCE, Waiting.PEER)
"""States in which a direction only waits for bytes: nothing is held up."""
_SOURCE, _PEER, _ANSWER = *IDLE, Waiting.ANSWER  # every stream is asked each second; an enum's attributes are slow


class TimeAccount:
    """One direction of one stream. Times are of any one monotonic clock, in nanoseconds."""

    __slots__ = ("_times", "since", "state")

    def __init__(self, state: Waiting, now: int) -> None:
        self.state = state
        """What it waits for. May be set if the present wait turns out to be for something else."""
        self.since = now
        """When the state began, or `take` was last called."""
        self._times: defaultdict[Waiting, int] = defaultdict(int)

    def enter(self, state: Waiting, now: int) -> None:
        """From now on it waits for that."""
        self._times[self.state] += now - self.since
        self.since = now
        self.state = state

    def divide(self, first: Waiting, until: int) -> None:
        """Divide the present wait: until that time it was for `first`, and only since then for `state`."""
        state, self.state = self.state, first
        self.enter(state, until)

    def take(self, now: int) -> dict[Waiting, int]:
        """Times since the last `take`; they add up to all that has passed."""
        self.enter(self.state, now)
        times, self._times = self._times, defaultdict(int)
        return times


@dataclass(frozen=True, slots=True)
class Spell:
    """What one direction of a stream did for a while, and the plain bytes that it moved."""

    times: Times
    moved: int
    answers: int = 0
    """How often the array waited for one, if this is outward."""
    taken: int = 0
    """Plain bytes that the far array has taken, if this is outward: what was sent may wait there."""

    @property
    def weight(self) -> float:
        """How much the spell counts in `blend`: the bytes that it moved, and some for the time that it was held up."""
        times = self.times
        total = sum(times.values())
        idle = times.get(_SOURCE, 0) + times.get(_PEER, 0)
        return self.moved + BLOCKED_BYTES * (1 - idle / total) if total else 0.0


def count(total: Counter[Waiting], *spells: Spell) -> None:
    """Add the spells' times to the total."""
    for spell in spells:
        for state, time in spell.times.items():
            total[state] += time


def blend(spells: Iterable[Spell]) -> dict[Waiting, int]:
    """One second of times, each spell's part by its weight; SOURCE if none has weight; empty if there are no spells."""
    weighed = [(spell.weight, spell.times) for spell in spells]
    weights = sum(weight for weight, _ in weighed)
    if not weights:
        return {Waiting.SOURCE: SECOND} if weighed else {}
    blended: Counter[Waiting] = Counter()
    for weight, times in weighed:
        scale = weight and SECOND * weight / weights / sum(times.values())
        for state, time in times.items():
            blended[state] += round(time * scale)
    return dict(blended)


def moved_by(spells: Iterable[tuple[Spell, Spell]]) -> dict[str, float]:
    """Counts of one second: plain bytes sent, delivered, and taken by far arrays; answers that arrays waited for; and,
    in nanoseconds, how long they waited for those (`answering`) and for how long there was a stream (`lived`).
    """
    sent = delivered = answers = taken = answering = lived = 0
    for outward, inward in spells:
        sent += outward.moved
        delivered += inward.moved
        answers += outward.answers
        taken += outward.taken
        answering += outward.times.get(_ANSWER, 0)
        lived = max(lived, sum(outward.times.values()))
    return {
        "sent": sent,
        "delivered": delivered,
        "answers": answers,
        "taken": taken,
        "answering": answering,
        "lived": lived,
    }


class Recent:
    """The last ten samples of about a second each: times, named counts, and the sample's length in seconds.

    Plain loops add them up: each of a thousand streams is asked for all this, and generators take twice the time.
    """

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[tuple[Times, Mapping[str, float], float]] = deque(maxlen=RECENT)

    def note(self, times: Times, counts: Mapping[str, float], seconds: float) -> None:
        """So many seconds have passed. `times`: of one second, as `blend` gives them."""
        self._samples.append((times, counts, seconds))

    @property
    def times(self) -> Times:
        """Of all samples together."""
        total: Counter[Waiting] = Counter()
        for times, _, seconds in self._samples:
            for state, time in times.items():
                total[state] += round(time * seconds)
        return total

    def total(self, name: str) -> float:
        """A count of all samples together."""
        total = 0.0
        for _, counts, _ in self._samples:
            total += counts.get(name, 0.0)
        return total

    def rate(self, name: str) -> float:
        """A count for each second; 0 before any has passed."""
        passed = 0.0
        for _, _, seconds in self._samples:
            passed += seconds
        return self.total(name) / passed if passed else 0.0

    def rate_while(self, name: str, *states: Waiting) -> float:
        """The rate while one of these states was waited for: each sample counts by the part of it that they took. If
        they took none, the rate of all."""
        weighed = [
            (sum(times.get(state, 0) for state in states), counts.get(name, 0.0), seconds)
            for times, counts, seconds in self._samples
        ]
        waited = sum(weight * seconds for weight, _, seconds in weighed)
        return sum(weight * count for weight, count, _ in weighed) / waited if waited else self.rate(name)
