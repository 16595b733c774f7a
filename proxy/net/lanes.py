"""The lanes to one peer: which there are, which are wanted, and what each is given to send."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from proxy.net.lane import Lane
from proxy.net.lane_count import LaneCount, LaneTotals
from proxy.net.loss import Loss
from proxy.net.sockets import BBR
from proxy.protocol.frames import LANES_MAX, WISHES_MAX
from proxy.protocol.lanes import COPIES
from proxy.protocol.tunnel import Tunnel
from proxy.reduction.drafts import GRAIN_MAX

EXPRESS = 1
"""Lanes of each mark beside those for bulk: the tunnel keeps the newest for what is urgent. Where packets are lost
there are `COPIES` more."""
CALM = 10.0
"""Seconds without anything urgent overtaking bulk, after which bulk is spared BBR's pauses."""


class Lanes:
    """The lanes that are up. `wanted` is set while the dialler has to bring up more. Loop thread."""

    def __init__(
        self,
        tunnel: Tunnel,
        fixed: int | None,
        marks: Iterable[int] = (),
        late: Callable[[float], bool] = lambda now: False,
    ) -> None:
        """`fixed`: the number of lanes of each mark, None to find it. `marks`: DSCP marks of what this side sends.

        `late(now)`: whether the loop has lately been so busy that it may come too late to a lane that runs dry.
        """
        self._late = late
        self.wanted = asyncio.Event()
        self.grain = GRAIN_MAX
        """Bytes that a frame should have at most."""
        self._tunnel = tunnel
        self._loop = asyncio.get_running_loop()
        self._all: dict[int, Lane] = {}
        self._ended = Counter[str]()  # what lanes that are gone have carried (`_wire`)
        self._usable: list[Lane] = []  # those that are up and not silent, or all that are up; the newest first
        self._loss = Loss()
        self._lossy_there = False  # the other side has found that packets are lost on the way to us
        self._configured = fixed
        self._theirs: Mapping[int, int] = {}  # lanes that the other side needs, by mark
        self._blocked = 0.0  # seconds, without the present wait
        self._blocked_since: float | None = None  # data waits, and no lane takes any
        self._begin(marks)

    def _begin(self, marks: Iterable[int]) -> None:
        each = sorted(set(marks)) or [0]
        most = WISHES_MAX // len(each)
        self._fixed = None if self._configured is None else min(self._configured, most)
        self._count = LaneCount(max(1, most - EXPRESS))
        self._ours = dict.fromkeys(each, self._fixed or min(most, 1 + EXPRESS))  # lanes that this side needs, by mark
        self._tunnel.wish(self._ours)
        self._tunnel.reserve(EXPRESS)
        self._review()

    def change(self, fixed: int | None, marks: Iterable[int]) -> None:
        """As in `__init__`, from now on; if anything differs, lanes are counted anew."""
        if fixed != self._configured or (set(marks) or {0}) != self._ours.keys():
            self._configured = fixed
            self._begin(marks)

    def __iter__(self) -> Iterator[Lane]:
        return iter(tuple(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    @property
    def up(self) -> bool:
        """At least one lane works."""
        for lane in self._all.values():  # noqa: SIM110 (each stream asks once a second, and a generator is slow)
            if lane.up and not lane.silent:
                return True
        return False

    @property
    def full(self) -> bool:
        """True if another lane is taken only in place of a silent one."""
        return len(self._all) >= LANES_MAX

    @property
    def oldest_silent(self) -> Lane | None:
        """The silent lane to be dropped first if there is no room for another lane."""
        return next((lane for lane in self if lane.silent), None)

    @property
    def blocked_seconds(self) -> float:
        """Seconds, in all, for which data has waited while no lane took any."""
        since = self._blocked_since
        return self._blocked + (self._loop.time() - since if since is not None else 0.0)

    # -- coming and going --------------------------------------------------------------------------------------

    def add(self, lane: Lane) -> list[Lane]:
        """The lane is up. Returns the silent lanes that it replaces, which the caller drops."""
        self._all[lane.number] = lane
        self._review()
        return [other for other in self if other.silent and other.mark == lane.mark]

    def remove(self, lane: Lane) -> bool:
        """The lane is gone; False if it never came up."""
        if self._all.pop(lane.number, None) is None:
            return False
        self._ended.update(_wire(lane))
        self._review()
        return True

    def silence(self, number: int) -> bool:
        """The lane is suspected to be dead, and no longer counts; True if there are enough others."""
        if number not in self._all:
            return False
        self._all[number].silent = True
        self._review()
        return not self.missing()

    def heard(self, lane: Lane) -> None:
        """Bytes have come on the lane."""
        if lane.silent:
            lane.silent = False
            self._review()

    def get(self, number: int) -> Lane | None:
        """The lane of that number."""
        return self._all.get(number)

    # -- how many ----------------------------------------------------------------------------------------------

    def wish_of_peer(self, counts: Mapping[int, int]) -> None:
        """The other side needs so many lanes of each mark. With BBR, if it needs more than before it has found packets
        to be lost (`sample`)."""
        most = max(counts.values(), default=0)
        before = max(self._theirs.values(), default=most)
        self._lossy_there = most > before or (most == before and self._lossy_there)
        self._theirs = counts
        self._review()

    def missing(self) -> list[int]:
        """The marks of the lanes that are missing, one entry for each lane."""
        there = Counter(lane.mark for lane in self if lane.up and not lane.silent)
        return [mark for mark, n in self._wishes().items() for _ in range(n - there[mark])]

    def surplus(self) -> list[Lane]:
        """Lanes beyond those that either side needs: the newest of their mark."""
        kept = Counter(self._wishes())
        found = []
        for lane in self:
            if lane.silent:
                continue
            kept[lane.mark] -= 1
            if kept[lane.mark] < 0:
                found.append(lane)
        return found

    def sample(self, now: float) -> None:
        """To be called once a second: tend the lanes, and see whether more or fewer are needed."""
        self._tend(now)
        wire = self.wire()
        lossy = self._loss.see(now, wire["packets"], wire["lost"])
        bbr = any(lane.congestion_control == BBR for lane in self)
        copying = lossy or (bbr and self._lossy_there)  # a line that loses packets one way mostly does both ways
        self._tunnel.copy(max((lane.tcp_info().delivery_rate for lane in self), default=0) if copying else 0)
        if self._fixed is not None:
            return
        urgent = EXPRESS + COPIES * lossy
        if bbr:
            self._wish(1 + urgent)
            self._tunnel.reserve(LANES_MAX)  # all but the first, also those that the other side needs
        else:
            totals = LaneTotals(wire["sent"], wire["retransmitted"], self.blocked_seconds)
            self._wish(self._count.see(now, totals) + urgent)
            self._tunnel.reserve(urgent)

    def _tend(self, now: float) -> None:
        """Tell each lane how it is used, which decides how much the kernel is given, and keep BBR from pausing."""
        late, scheduler, express = self._late(now), self._tunnel.scheduler, self._tunnel.express
        divided = {lane.mark for lane in self if lane.number in express}
        calm = not scheduler.ruled and now > scheduler.overtaken_at + CALM  # with rules the line need not be full
        for lane in self:
            is_express = lane.number in express
            lane.unpause(now, light=is_express, calm=calm, capped=scheduler.capped)
            lane.stand_apart(not is_express and lane.mark in divided, late=late)  # knows of a ceiling set just now

    def _wish(self, wanted: int) -> None:
        """Tell the tunnel that this side needs so many lanes of each mark."""
        wanted = min(wanted, WISHES_MAX // len(self._ours))
        if wanted not in self._ours.values():
            self._ours = dict.fromkeys(self._ours, wanted)
            self._tunnel.wish(self._ours)
            self._review()

    def wire(self) -> Counter[str]:
        """Bytes of TCP payload, and packets with payload, on all lanes, ended and live."""
        total = Counter(self._ended)
        for lane in self:
            total.update(_wire(lane))
        return total

    def _wishes(self) -> dict[int, int]:
        marks = self._ours.keys() | self._theirs.keys()
        return {mark: max(self._ours.get(mark, 0), self._theirs.get(mark, 0)) for mark in marks}

    def _review(self) -> None:
        lanes = [lane for lane in reversed(self._all.values()) if lane.up]
        self._usable = [lane for lane in lanes if not lane.silent] or lanes
        if self.missing():
            self.wanted.set()
        else:
            self.wanted.clear()

    # -- sending -----------------------------------------------------------------------------------------------

    def pump(self, now: float) -> None:
        """Write what the tunnel wants sent to the lanes that take it."""
        tunnel, blocked = self._tunnel, False
        while not (blocked or tunnel.quiet):
            blocked = not self._write(now)
        if blocked and self._all and tunnel.streams.backlog:  # no backlog: a cap holds all
            self._blocked_since = now if self._blocked_since is None else self._blocked_since
        elif self._blocked_since is not None:
            self._blocked += now - self._blocked_since
            self._blocked_since = None

    def _write(self, now: float) -> bool:
        """Give the lanes that have room something to write; False if none took any."""
        rooms, wanting = {}, self._tunnel.wanting
        for lane in self._usable:  # the newest, for what is urgent, is first
            if lane.number in wanting and (room := lane.room()):
                rooms[lane.number] = room
                self.grain = lane.grain  # the last one counts, the oldest lane's: bulk goes by it
        taken = self._tunnel.take(rooms, now) if rooms else {}
        for number, frames in taken.items():
            self._all[number].write(frames)
        return bool(taken)


def _wire(lane: Lane) -> Counter[str]:
    info = lane.tcp_info()
    return Counter(
        sent=info.bytes_sent,
        retransmitted=info.bytes_retransmitted,
        received=info.bytes_received,
        packets=info.packets,
        lost=info.packets_lost,
    )
