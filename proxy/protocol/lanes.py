"""Whether a lane lives (what was heard, pings, the round trip), and which of several lanes carries what."""

from collections.abc import Iterable, Iterator, Sequence

from proxy.protocol.codes import FrameType
from proxy.protocol.errors import PeerError
from proxy.protocol.frames import encode_token
from proxy.protocol.meter import NEVER
from proxy.protocol.reader import encode
from proxy.protocol.share import Marks, Share

COPIES = 2
"""How many other lanes carry copies of an urgent frame, at most (copies.py)."""
PING_BUSY = 1.0
"""Seconds between pings of a lane that carries streams: how windows grow depends on the round trip."""
PONGS_MAX = 16
"""PONGs that may wait to be sent on a lane: an honest peer has one PING under way at a time."""
SMOOTHING = 1 / 8
"""Weight of a new sample in the average round trip, as of TCP (RFC 6298, section 2)."""
SILENT_AFTER = 3.0
"""Seconds without an answer to a PING, or any other sign of life, after which a lane is suspected to be dead. After an
outage its connection may wait up to two minutes for TCP's next try (RFC 6298, section 5.5)."""
SILENT_ROUND_TRIPS = 4
"""The same in round trips, where these take longer."""


class Lane:
    """One connection of a tunnel. `ready`: the peer's state has come by it, so we may send all frames on it."""

    def __init__(self, number: int, mark: int, keepalive: float, dead_after: float, now: float, began: float) -> None:
        """Times in seconds. `mark`: the DSCP mark of its packets; `began`: when its connection did."""
        self.number = number
        self.mark = mark
        self.began = began
        self.silent = False
        """The lane is suspected to be dead, and the driver was told so; nothing has been heard on it since then."""
        self.ready = False
        self.greeted = False
        """Our state has been sent on it."""
        self.heard = now
        """When bytes last came on it."""
        self.brought = now
        """When the peer last acknowledged a frame that went by it."""
        self.outbox: list[bytes] = []
        """PING and PONG that wait to be sent on it."""
        self._keepalive = keepalive
        self._dead_after = dead_after
        self._paced = now
        """Since when it goes by these times."""
        self.busy = False
        """Numbered frames went or came by it since the last PONG."""
        self._next_ping = now
        self._asked_at: float | None = None  # when the PING that is under way was sent
        self._token = 0  # of the last PING

    def deadline(self, round_trip: float) -> float:
        """When `Tunnel.tick` has to look at the lane."""
        dead = self._dead_at
        if self._asked_at is None:
            return min(dead, self._next_ping)
        return dead if self.silent else min(dead, self._silent_at(round_trip))

    def falls_silent(self, now: float, round_trip: float) -> bool:
        """True once for each silence: the lane is suspected to be dead from now on."""
        if self.silent or self._asked_at is None or now < self._silent_at(round_trip):
            return False
        self.silent = True
        return True

    def is_dead(self, now: float) -> bool:
        """True if nothing was heard for too long."""
        return now >= self._dead_at

    def pace(self, keepalive: float, dead_after: float, now: float) -> None:
        """Go by these times from now on. One that has only not been asked so far, for it was time enough, has time to
        answer."""
        if (keepalive, dead_after) == (self._keepalive, self._dead_after):
            return
        self._keepalive, self._dead_after, self._paced = keepalive, dead_after, now
        self._next_ping = min(self._next_ping, now + keepalive)

    def tick(self, now: float) -> None:
        """Queue PING if it is time and none is under way."""
        if self._asked_at is None and now >= self._next_ping:
            self._token += 1
            self._asked_at = now
            self.outbox.append(encode(FrameType.PING, 0, 0, encode_token(self._token)))

    def begin(self, now: float) -> None:
        """The peer's state has come: the lane is ready. A PING that waited for that is sent only now."""
        self.ready = True
        if self._asked_at is not None:
            self._asked_at = now

    def pinged(self, token: int) -> None:
        """The peer's PING has come: queue PONG. Raises PeerError if it asks faster than it can be answered."""
        if sum(frame[0] == FrameType.PONG for frame in self.outbox) >= PONGS_MAX:  # our own PING is not counted
            raise PeerError("PING", f"{PONGS_MAX} were not answered yet")
        self.outbox.append(encode(FrameType.PONG, 0, 0, encode_token(token)))

    def ponged(self, token: int, now: float) -> float:
        """The answer to our PING has come: the round trip in seconds. Raises PeerError if we did not ask."""
        if self._asked_at is None or token != self._token:
            raise PeerError("PONG", f"token {token} answers no PING that is under way")
        round_trip = now - self._asked_at
        self._asked_at = None
        self._next_ping = now + (min(PING_BUSY, self._keepalive) if self.busy else self._keepalive)
        self.busy = False
        return round_trip

    def note_traffic(self, now: float) -> bool:
        """It becomes `busy`: a numbered frame goes or comes by it. True if a PING is due earlier because of that."""
        self.busy = True
        due = self._next_ping
        self._next_ping = min(due, now + PING_BUSY)
        return self._next_ping < due

    @property
    def _dead_at(self) -> float:
        return max(self.heard, self._paced) + self._dead_after

    def _silent_at(self, round_trip: float) -> float:
        assert self._asked_at is not None
        return max(self.heard, self.brought, self._asked_at) + max(SILENT_AFTER, SILENT_ROUND_TRIPS * round_trip)


class Lanes:
    """The lanes that are up, the oldest first, and which of them carries what.

    Every lane may carry urgent frames; bulk goes by lanes that are not `express`. A lane carries the frames of shares
    that have its DSCP mark (`marks_of`).
    """

    def __init__(self) -> None:
        self.deadline = NEVER
        """When `Tunnel.tick` may have to look at a lane. It may be too early: bytes that are heard put that off."""
        self.speaking = False
        """True if a lane has frames of the tunnel to send: our state, PING or PONG."""
        self._all: dict[int, Lane] = {}
        self._marks: set[int] = set()  # of the lanes that are ready
        self._working: dict[int, list[int]] = {}  # by mark: numbers of the lanes that are ready and not silent
        self.express: set[int] = set()
        """Numbers of the lanes that carry no bulk, so that urgent frames wait behind no bulk that TCP lost or queued.

        They are the newest of several with one mark, since bulk stays on lanes where it has gathered speed.
        """
        self._reserved = 1  # express lanes of each mark, as far as one is left for bulk
        self._copy_lanes: dict[int, list[int]] = {}

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
        """The lane is up. `round_trip`, here and below: the tunnel's, in seconds."""
        self._all[lane.number] = lane
        self.reschedule(round_trip)
        self.note_speaking()

    def remove(self, number: int, round_trip: float) -> bool:
        """The lane is gone; False if it is not known."""
        if self._all.pop(number, None) is None:
            return False
        self.reschedule(round_trip)
        self.note_speaking()
        self.assign()
        return True

    def note_speaking(self) -> None:
        """Bring `speaking` up to date: an outbox has been filled or emptied."""
        self.speaking = any(lane.outbox or not lane.greeted for lane in self._all.values())

    def wanting(self, *, any_lane: bool, bulk: bool) -> list[int]:
        """Numbers of the lanes that have something to write: their own frames, or frames that wait for some lane.

        `any_lane`: a frame waits that any lane may carry; `bulk`: bulk waits.
        """
        express = self.express
        return [
            number
            for number, lane in self._all.items()
            if not lane.greeted or (lane.ready and (any_lane or lane.outbox or (bulk and number not in express)))
        ]

    def hears(self, lane: Lane, now: float) -> None:
        """Bytes have come on the lane."""
        lane.heard = now
        if lane.silent:
            lane.silent = False
            self.deadline = min(self.deadline, now + SILENT_AFTER)  # it was when the silent lane would be dropped
            self.assign()

    def brought(self, number: int | None, now: float) -> None:
        """A frame that went by lane `number` was acknowledged, by whichever lane: so that lane is not silent, though a
        PING may stand in its queue for long.

        The lane may still be dead the other way: it is dropped like any other if no byte is heard on it.
        """
        if number is not None and (lane := self._all.get(number)) is not None:
            lane.brought = now

    def note_traffic(self, lane: Lane, now: float) -> None:
        """A numbered frame goes or comes by the lane, which may bring its next PING forward."""
        if not lane.busy and lane.note_traffic(now):
            self.deadline = min(self.deadline, now + PING_BUSY)

    def reschedule(self, round_trip: float) -> None:
        """Bring `deadline` up to date."""
        self.deadline = min((lane.deadline(round_trip) for lane in self._all.values()), default=NEVER)

    # -- duties --------------------------------------------------------------------------------------------------

    def reserve(self, number: int) -> None:
        """Keep up to `number` lanes of each mark for urgent frames, as far as one is left for bulk."""
        if number != self._reserved:
            self._reserved = number
            self.assign()

    def assign(self) -> None:
        """Decide anew which lanes are express: a lane has come or gone, has fallen silent, or is heard again."""
        self._marks = {lane.mark for lane in self if lane.ready}
        self._working = {mark: [] for mark in self._marks}
        for lane in self:
            if lane.ready and not lane.silent:
                self._working[lane.mark].append(lane.number)
        self.express = {number for numbers in self._working.values() for number in numbers[1:][-self._reserved :]}
        self._copy_lanes = {lane.number: self._beside(lane) for lane in self}

    def copy_lanes(self, lane: Lane) -> Sequence[int]:
        """Numbers of other lanes of that mark that carry copies of urgent frames: express ones, else the newest."""
        return self._copy_lanes.get(lane.number, ())

    def _beside(self, lane: Lane) -> list[int]:
        others = [number for number in self._working.get(lane.mark, ()) if number != lane.number]
        return [number for number in others if number in self.express][-COPIES:] or others[-1:]

    def marks_of(self, lane: Lane, shares: Iterable[Share]) -> Marks | None:
        """The marks that the lane carries: its own, and on lanes of the lowest mark all that no lane has.

        None if all lanes that are ready have the same mark: then each lane carries every mark.
        """
        marks = self._marks
        if len(marks) < 2:
            return None
        if lane.mark != min(marks):
            return {lane.mark}
        return {lane.mark} | {share.mark for share in shares} - marks


def smoothed(average: float | None, sample: float) -> float:
    """The next value of an exponential moving average; None before the first sample."""
    return sample if average is None else average + (sample - average) * SMOOTHING
