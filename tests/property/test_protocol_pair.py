"""Two tunnels in any order of calls: what arrives is a prefix of what was sent, and all ends well once lanes hold.

The network is the test's: frames wait in queues until a rule delivers some, lanes die with what waits in them, either
side may notice first. Stream for stream the model knows what each array sent, took and ended.
"""

from collections import deque
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from proxy.protocol import events
from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import OpenRefused
from proxy.protocol.hello import CREDIT_MIN
from proxy.protocol.reader import Frame
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.tunnel import Tunnel
from tests.unit.protocol.playbook import fed, lane_reader

SETTINGS = TunnelSettings(initial_credit=64 << 10, memory=1 << 20, unacked_max=128 << 10, streams=3, grace=1000.0)
SIDES = st.integers(0, 1)


class Array:
    """What one side's array has sent and received on one stream."""

    def __init__(self) -> None:
        self.sent = 0
        self.ended = False
        self.received = 0
        self.end_came = False
        self.waiting: deque[int] = deque()
        self.accepted = False
        self.gone = False


class Pair(RuleBasedStateMachine):
    @initialize(memory=st.sampled_from([1 << 20, 4 << 20]))
    def begin(self, memory: int) -> None:
        """With 4 MiB, what HELLO offers depends on the memory that is allotted."""
        self.now = 0.0
        self.settings = replace(SETTINGS, memory=memory, initial_credit=memory // 8)
        self.tunnels = [self.tunnel("left", "right"), self.tunnel("right", "left")]
        self.most = [(memory, SETTINGS.unacked_max)] * 2
        """Memory and `unacked_max` of each side, as they are or were."""
        self.arrays: list[dict[int, Array]] = [{}, {}]
        self.lanes: dict[int, list[deque[Frame]]] = {}
        """Frames under way, by the side that sent them; a lane that a side gave up is not in `up` of that side."""
        self.up: list[set[int]] = [set(), set()]
        self.lanes_made = 0
        self.reader = lane_reader()
        self.dial(0)

    def tunnel(self, name: str, peer: str) -> Tunnel:
        return Tunnel(self.settings, name, peer, name.encode().ljust(16), [b"epoch---"], 0.0, software="x")

    # -- lanes

    @rule(side=SIDES)
    @precondition(lambda self: len(self.lanes) < 3)
    def dial(self, side: int) -> None:
        first, second = self.tunnels[side], self.tunnels[1 - side]
        mine = first.hello()
        second.join(mine, dialler=False, now=self.now)
        first.join(second.hello(), dialler=True, now=self.now, mine=mine)
        self.lanes_made += 1
        self.lanes[self.lanes_made] = [deque(), deque()]
        for each in (0, 1):
            self.drain(each)
            self.tunnels[each].lane_up(self.lanes_made, self.now)
            self.up[each].add(self.lanes_made)

    @rule(side=SIDES, limit=st.sampled_from([1, 50_000, 1 << 20]), which=st.integers(0, 5))
    def write(self, side: int, limit: int, which: int) -> None:
        """A lane takes what its tunnel wants to send, or all do."""
        lane = self.lane(side, which)
        lanes = [lane] if which < 3 else sorted(self.up[side], reverse=True)
        if lane:
            for each, pieces in self.tunnels[side].take(dict.fromkeys(lanes, limit), self.now).items():
                self.lanes[each][side].extend(fed(self.reader, b"".join(pieces)))
            self.drain(side)

    @rule(side=SIDES, line=st.sampled_from([0, 1e5, 1e8]), spared=st.sampled_from([1, 2]))
    def lose_packets(self, side: int, line: float, spared: int) -> None:
        """What is urgent goes by several lanes from now on, or no longer."""
        self.tunnels[side].copy(line)
        self.tunnels[side].reserve(spared)

    @rule(side=SIDES, count=st.integers(1, 20), which=st.integers(0, 5))
    def deliver(self, side: int, count: int, which: int) -> None:
        """Some of what the other side has written arrives."""
        lane = self.lane(side, which)
        if lane:
            queue = self.lanes[lane][1 - side]
            for _ in range(min(count, len(queue))):
                self.tunnels[side].receive(lane, queue.popleft(), self.now)
                self.drain(side)

    @rule(side=SIDES, which=st.integers(0, 5))
    def notice_death(self, side: int, which: int) -> None:
        """A connection breaks: this side knows, the other one only that nothing comes any more."""
        lane = self.lane(side, which)
        if lane:
            self.lanes[lane][0].clear()
            self.lanes[lane][1].clear()
            self.lose_lane(side, lane)

    def lose_lane(self, side: int, lane: int) -> None:
        self.up[side].discard(lane)
        self.tunnels[side].lane_down(lane, self.now)
        self.drain(side)
        if lane not in self.up[0] | self.up[1]:
            del self.lanes[lane]

    def lane(self, side: int, which: int) -> int:
        """One of the lanes that are up on that side, or 0."""
        lanes = sorted(self.up[side])
        return lanes[which % len(lanes)] if lanes else 0

    @rule(seconds=st.sampled_from([0.05, 1.0, 6.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for side in (0, 1):
            self.tunnels[side].tick(self.now)
            self.drain(side)

    @rule(side=SIDES, part=st.sampled_from([0.25, 0.5, 1, 2]))
    def allot(self, side: int, part: float) -> None:
        """The site has other peers, or its file says so."""
        memory, unacked = int(self.settings.memory * part), max(CREDIT_MIN, int(SETTINGS.unacked_max * part))
        self.tunnels[side].allot(memory=memory, unacked_max=unacked, window_max=memory)
        self.most[side] = max(memory, self.most[side][0]), max(unacked, self.most[side][1])
        self.drain(side)

    @rule(
        side=SIDES,
        keepalive=st.sampled_from([0.5, 5.0]),
        dead_after=st.sampled_from([20.0, 60.0]),
        grace=st.sampled_from([4.0, 1000.0]),
    )
    def pace(self, side: int, keepalive: float, dead_after: float, grace: float) -> None:
        """The site's file says so."""
        self.tunnels[side].pace(keepalive=keepalive, dead_after=dead_after, grace=grace, now=self.now)
        self.drain(side)

    # -- streams

    @rule(side=SIDES)
    def open(self, side: int) -> None:
        try:
            stream = self.tunnels[side].streams.open("array", "")
        except OpenRefused:
            return
        self.arrays[side][stream] = Array()
        self.arrays[side][stream].accepted = True

    def live(self, side: int, which: int) -> tuple[int, Array] | None:
        """One of the streams that can send on that side."""
        found = [(n, array) for n, array in sorted(self.arrays[side].items()) if array.accepted and not array.gone]
        return found[which % len(found)] if found else None

    @rule(side=SIDES, which=st.integers(0, 5), wanted=st.integers(1, 70_000), known=st.booleans())
    def send(self, side: int, which: int, wanted: int, known: bool) -> None:
        if chosen := self.live(side, which):
            stream, array = chosen
            plain = min(wanted, self.tunnels[side].streams.sendable(stream))
            if plain:
                batch = (
                    plain.to_bytes(4, "big") + array.sent.to_bytes(8, "big") + bytes(plain // 20 if known else plain)
                )
                self.tunnels[side].streams.send_data(stream, batch, plain)
                array.sent += plain

    @rule(side=SIDES, which=st.integers(0, 5))
    def end(self, side: int, which: int) -> None:
        if (chosen := self.live(side, which)) and not chosen[1].ended:
            chosen[1].ended = True
            self.tunnels[side].streams.send_end(chosen[0], chosen[1].sent, b"")

    @rule(side=SIDES, which=st.integers(0, 5))
    def take_data(self, side: int, which: int) -> None:
        if (chosen := self.live(side, which)) and chosen[1].waiting:
            chosen[1].waiting.popleft()
            self.tunnels[side].streams.consumed(chosen[0])

    @rule(side=SIDES, which=st.integers(0, 20))
    def reset(self, side: int, which: int) -> None:
        chosen = self.live(side, which) if which < 3 else None
        if chosen:
            chosen[1].gone = True
            self.tunnels[side].streams.reset(chosen[0], ResetCode.ORIGIN_RESET, "")

    @rule(side=SIDES)
    def accept(self, side: int) -> None:
        for stream, array in self.arrays[side].items():
            if not array.accepted and not array.gone:
                array.accepted = True
                self.tunnels[side].streams.accept(stream)

    @rule(side=SIDES, chance=st.integers(0, 30))
    def give_up(self, side: int, chance: int) -> None:
        if chance == 0:
            self.tunnels[side].abandon(ResetCode.INTERNAL, "test", self.now)
            self.drain(side)

    # -- what happens

    def drain(self, side: int) -> None:
        while (event := self.tunnels[side].next_event()) is not None:
            self.happened(side, event)

    def happened(self, side: int, event: events.Event) -> None:
        arrays = self.arrays[side]
        match event:
            case events.StreamOffered(stream):
                arrays[stream] = Array()
            case events.DataReceived(stream, plain, batch) if not arrays[stream].gone:
                array = arrays[stream]
                assert int.from_bytes(bytes(batch[4:12]), "big") == array.received
                assert not array.end_came
                array.received += plain
                array.waiting.append(plain)
            case events.StreamEnded(stream, total) if not arrays[stream].gone:
                assert total == arrays[stream].received
                arrays[stream].end_came = True
            case events.StreamReset(stream):
                arrays[stream].gone = True
            case events.LaneDead(lane):
                self.up[side].discard(lane)
                if lane in self.lanes and lane not in self.up[1 - side]:
                    del self.lanes[lane]
            case events.TunnelReset():
                assert all(array.gone or self.is_done(side, n) for n, array in arrays.items())
                arrays.clear()
            case _:
                pass

    def is_done(self, side: int, stream: int) -> bool:
        """Both arrays have ended and this one has everything."""
        array = self.arrays[side][stream]
        return array.ended and array.end_came and not array.waiting

    @invariant()
    def memory_is_bounded(self) -> None:
        for tunnel, (memory, unacked) in zip(self.tunnels, self.most, strict=True):
            figures = tunnel.figures
            assert figures.credit_bytes <= memory
            assert figures.unacked_bytes <= unacked + 6 * SETTINGS.streams * (150 << 10)
            assert figures.kept_bytes <= memory * 5 // 4
            assert figures.streams <= 7 * SETTINGS.streams

    # -- the end

    def teardown(self) -> None:
        """Lanes that one side has given up die, one at least holds, and the arrays end what they began."""
        if not hasattr(self, "tunnels"):
            return
        for side in (0, 1):
            for lane in self.up[side] - self.up[1 - side]:
                self.lose_lane(side, lane)
        if not self.lanes:
            self.dial(0)
        for _ in range(60):
            self.wait(0.3)
            for side in (0, 1):
                self.finish(side)
                for lane in range(len(self.lanes)):
                    self.write(side, 1 << 20, lane)
                    self.deliver(1 - side, 1 << 20, lane)
        for tunnel in self.tunnels:
            figures = tunnel.figures
            credit = figures.credit_bytes - figures.foretold_bytes
            left = figures.streams, figures.unacked_bytes, figures.kept_bytes, credit
            assert left == (0, 0, 0, 0)

    def finish(self, side: int) -> None:
        self.accept(side)
        for stream, array in self.arrays[side].items():
            if array.gone:
                continue
            while array.waiting:
                array.waiting.popleft()
                self.tunnels[side].streams.consumed(stream)
            if not array.ended:
                array.ended = True
                self.tunnels[side].streams.send_end(stream, array.sent, b"")


TestPair = Pair.TestCase
TestPair.settings = settings(max_examples=150, stateful_step_count=60)
