"""Whether a lane lives: what was heard, pings, and the round trip; and which of several carries what."""

from collections.abc import Iterable, Iterator

from proxy.protocol.codes import FrameType
from proxy.protocol.errors import PeerError
from proxy.protocol.frames import encode_token
from proxy.protocol.meter import NEVER
from proxy.protocol.reader import encode
from proxy.protocol.share import Marks, Share

COPIES = 2
"""Lanes by which what is urgent goes as well, at most."""
PING_BUSY = 1.0
"""Seconds between pings of a lane that carries streams: windows grow by the round trip."""
PONGS_MAX = 16
"""Answers that may wait: a side has one PING under way at a time."""
SMOOTHING = 1 / 8
SILENT_AFTER = 3.0
"""Seconds without an answer to a PING, and without anything else, after which a lane is suspected to be dead. An
outage that ends leaves its connection waiting for TCP's next try, up to two minutes (RFC 6298, section 5.5)."""
SILENT_ROUND_TRIPS = 4


class Lane:
    """One connection of a tunnel. `ready`: the peer's state has come, numbered frames may be sent on it."""

    def __init__(self, number: int, mark: int, keepalive: float, dead_after: float, now: float) -> None:
        """Times in seconds. `mark`: DSCP, of its packets."""
        self.number = number
        self.mark = mark
        self.silent = False
        """It has been told that the lane is suspected to be dead; nothing was heard since."""
        self.ready = False
        self.greeted = False
        self.heard = self.brought = now
        self.outbox: list[bytes] = []
        self._keepalive = keepalive
        self._dead_after = dead_after
        self._busy = False  # numbered frames went or came by it since the last PONG
        self._next_ping = now
        self._asked_at: float | None = None
        self._token = 0

    def deadline(self, round_trip: float) -> float:
        """When `tick` should be called."""
        dead = self.heard + self._dead_after
        if self._asked_at is None:
            return min(dead, self._next_ping)
        return dead if self.silent else min(dead, self._silent_at(round_trip))

    def falls_silent(self, now: float, round_trip: float) -> bool:
        """True once, when the lane is suspected to be dead."""
        if self.silent or self._asked_at is None or now < self._silent_at(round_trip):
            return False
        self.silent = True
        return True

    def is_dead(self, now: float) -> bool:
        """True if nothing was heard for too long."""
        return now >= self.heard + self._dead_after

    def tick(self, now: float) -> None:
        """Queue PING if it is time and none is under way."""
        if self._asked_at is None and now >= self._next_ping:
            self._token += 1
            self._asked_at = now
            self.outbox.append(encode(FrameType.PING, 0, 0, encode_token(self._token)))

    def begin(self, now: float) -> None:
        """The peer's state has come: what waited for that goes now, so a PING is under way from now on."""
        self.ready = True
        if self._asked_at is not None:
            self._asked_at = now

    def pinged(self, token: int) -> None:
        """The peer's PING has come: queue PONG. Raises PeerError if it asks faster than it can be answered."""
        if sum(frame[0] == FrameType.PONG for frame in self.outbox) >= PONGS_MAX:  # a PING of ours may wait, too
            raise PeerError("PING", f"{PONGS_MAX} were not answered yet")
        self.outbox.append(encode(FrameType.PONG, 0, 0, encode_token(token)))

    def ponged(self, token: int, now: float) -> float:
        """The answer to our PING has come: the round trip in seconds. Raises PeerError if we did not ask."""
        if self._asked_at is None or token != self._token:
            raise PeerError("PONG", f"token {token} answers no PING that is under way")
        round_trip = now - self._asked_at
        self._asked_at = None
        self._next_ping = now + (min(PING_BUSY, self._keepalive) if self._busy else self._keepalive)
        self._busy = False
        return round_trip

    def carries(self, now: float) -> bool:
        """A numbered frame goes or comes by it. True if a PING is due earlier because of that."""
        if self._busy:
            return False
        self._busy = True
        due = self._next_ping
        self._next_ping = min(due, now + PING_BUSY)
        return self._next_ping < due

    def _silent_at(self, round_trip: float) -> float:
        assert self._asked_at is not None
        return max(self.heard, self.brought, self._asked_at) + max(SILENT_AFTER, SILENT_ROUND_TRIPS * round_trip)


class Lanes:
    """Those that are up, the oldest first, and which of them carries what."""

    def __init__(self) -> None:
        self.at = NEVER
        """When one of them has to be looked at: then, or later."""
        self.speaking = False
        """One of them has something to say that is no stream's."""
        self._all: dict[int, Lane] = {}
        self._marks: set[int] = set()  # of those that are ready
        self._working: dict[int, list[int]] = {}  # by mark
        self.express: set[int] = set()
        """The newest of several, kept for what is urgent: there it waits for nothing that bulk has lost or queued.

        Bulk stays where it has gathered speed.
        """
        self._reserved = 1

    def __contains__(self, number: int) -> bool:
        return number in self._all

    def __iter__(self) -> Iterator[Lane]:
        return iter(tuple(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def get(self, number: int) -> Lane | None:
        """The lane of that number."""
        return self._all.get(number)

    def add(self, lane: Lane, round_trip: float) -> None:
        """It is up."""
        self._all[lane.number] = lane
        self.watch(round_trip)
        self.listen()

    def remove(self, number: int, round_trip: float) -> bool:
        """It is gone; False if it is not known."""
        if self._all.pop(number, None) is None:
            return False
        self.watch(round_trip)
        self.listen()
        self.assign()
        return True

    def listen(self) -> None:
        """One of them has said something, or has something to say."""
        self.speaking = any(lane.outbox or not lane.greeted for lane in self._all.values())

    def wanting(self, *, any_lane: bool, bulk: bool) -> list[int]:
        """Those that have something to write: of their own, what may go by any lane, or bulk."""
        express = self.express
        return [
            number
            for number, lane in self._all.items()
            if not lane.greeted or (lane.ready and (any_lane or lane.outbox or (bulk and number not in express)))
        ]

    def hears(self, lane: Lane, now: float) -> None:
        """Bytes have come on it."""
        lane.heard = now
        if lane.silent:
            lane.silent = False
            self.at = min(self.at, now + SILENT_AFTER)  # it may fall silent again long before it would have been dead
            self.assign()

    def brought(self, number: int | None, now: float) -> None:
        """A frame that went by that lane has just arrived, so it lives, whoever told: a PING may wait in its queue.

        The other way may be dead all the same, so without a byte heard it is given up like any other.
        """
        if number is not None and (lane := self._all.get(number)) is not None:
            lane.brought = now

    def carries(self, lane: Lane, now: float) -> None:
        """A numbered frame goes or comes by it."""
        if lane.carries(now):
            self.at = min(self.at, now + PING_BUSY)

    def watch(self, round_trip: float) -> None:
        """Something may have to be done earlier than was known. What is heard only makes it later."""
        self.at = min((lane.deadline(round_trip) for lane in self._all.values()), default=NEVER)

    # -- duties --------------------------------------------------------------------------------------------------

    def reserve(self, number: int) -> None:
        """So many of each mark are kept for what is urgent, if there are more."""
        if number != self._reserved:
            self._reserved = number
            self.assign()

    def assign(self) -> None:
        """Lanes have come or gone, or do not answer."""
        self._marks = {lane.mark for lane in self if lane.ready}
        self._working = {mark: [] for mark in self._marks}
        for lane in self:
            if lane.ready and not lane.silent:
                self._working[lane.mark].append(lane.number)
        self.express = {number for numbers in self._working.values() for number in numbers[1:][-self._reserved :]}

    def others(self, lane: Lane) -> list[int]:
        """Where what is urgent and goes by `lane` may go as well: other lanes that are kept for that, or the newest."""
        others = [number for number in self._working.get(lane.mark, ()) if number != lane.number]
        return [number for number in others if number in self.express][-COPIES:] or others[-1:]

    def marks_of(self, lane: Lane, shares: Iterable[Share]) -> Marks | None:
        """Which shares go by the lane: those of its mark; by the least marked lanes also those that have none."""
        marks = self._marks
        if len(marks) < 2:
            return None
        if lane.mark != min(marks):
            return {lane.mark}
        return {lane.mark} | {share.mark for share in shares} - marks


def smoothed(average: float | None, sample: float) -> float:
    """The next value of a moving average."""
    return sample if average is None else average + (sample - average) * SMOOTHING
