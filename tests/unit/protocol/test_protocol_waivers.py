"""Waivers: credit that a stream at rest does not use is asked back where another one lacks it, and given back."""

import pytest

from proxy.protocol.codes import Capability, FrameType, ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.events import Consumed, DataReceived, Recalled, StreamOffered, Writable
from proxy.protocol.flow import Obstacle
from proxy.protocol.frames import encode_credit, encode_waive
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.tunnel import Tunnel
from tests.unit.protocol.playbook import Pair, Script, events_of, literal

KIB, MIB = 1 << 10, 1 << 20
INITIAL = 64 * KIB
REST = TunnelSettings.rest
COST = 256
"""Of a frame, beside its bytes."""


class Arrays:
    """Streams from left to right, whose far arrays take everything at once; a round trip takes 4 ms."""

    def __init__(self, count: int, memory: int, *, waives: bool = True, **settings: float) -> None:
        """`memory`: of each site; `waives`: the left one gives back what it is asked for."""
        self.memory, self.waives = memory, waives
        self.pair = Pair(initial_credit=INITIAL, dead_after=1e6, memory=memory, **settings)
        self.pair.another(1)
        self.streams = [self.pair.left.streams.open("array", "") for _ in range(count)]
        self.turn()
        events_of(self.pair.left)

    def turn(self) -> None:
        """A round trip."""
        pair = self.pair
        pair.now += 0.004
        for tunnel in (pair.left, pair.right):
            tunnel.tick(pair.now)
            pair.carry(1, tunnel)
            self.take(pair.right)
            self.take(pair.left)

    def take(self, tunnel: Tunnel) -> None:
        for event in events_of(tunnel):
            if isinstance(event, StreamOffered):
                tunnel.streams.accept(event.stream)
            elif isinstance(event, DataReceived):
                tunnel.streams.consumed(event.stream)
            elif isinstance(event, Recalled) and self.waives:
                tunnel.streams.waive(event.stream, event.consumed, event.limit)

    def send(self, streams: list[int], mib: int) -> None:
        """Each sends so much: in each round trip what its window allows."""
        left = dict.fromkeys(streams, mib * MIB)
        tunnel = self.pair.left
        while any(left.values()):
            for stream in streams:
                while size := min(left[stream], tunnel.streams.sendable(stream)):
                    tunnel.streams.send_data(stream, literal(size), size)
                    left[stream] -= size
                    self.pair.carry(1, tunnel)
                    self.take(self.pair.right)
            self.turn()
            assert self.promised() <= self.memory

    def send_together(self, streams: list[int], seconds: float) -> None:
        """Side by side, in each round trip half of what their windows are: the line takes no more."""
        tunnel, end = self.pair.left, self.pair.now + seconds
        while self.pair.now < end:
            left = {stream: max(self.window(stream) // 2, INITIAL // 2) for stream in streams}
            while any(left.values()):
                for stream in streams:
                    size = min(left[stream], tunnel.streams.sendable(stream), 128 * KIB)
                    left[stream] = left[stream] - size if size else 0
                    if size:
                        tunnel.streams.send_data(stream, literal(size), size)
                        self.pair.carry(1, tunnel)
                        self.take(self.pair.right)
            self.turn()

    def send_until(self, stream: int, window: int) -> None:
        """It sends without a pause until it may have so much under way."""
        end = self.pair.now + 6 * REST
        while self.window(stream) < window:
            self.send([stream], 4)
            assert self.pair.now < end

    def rest(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.004)):
            self.turn()

    def window(self, stream: int) -> int:
        """What may be under way."""
        flow = self.pair.left.streams.flow(stream)
        assert flow is not None
        return flow.window

    def promised(self) -> int:
        windows = [each.incoming.window for each in self.pair.right._state.live.values()]
        return sum(window.limit - window.consumed for window in windows)


def test_one_that_goes_on_alone_has_what_the_others_do_not_use() -> None:
    """An array's connections stay, also when only one of them has something to replicate."""
    arrays = Arrays(16, memory=8 * MIB, window_max=3 * MIB, streams=16)
    arrays.send(arrays.streams, 4)
    busy, *others = arrays.streams
    arrays.send([busy], 16)
    assert arrays.window(busy) < MIB, "what all have been granted is nearly all that there is"
    arrays.send_until(busy, 3 * MIB)
    assert all(arrays.window(stream) <= INITIAL for stream in others)


def test_nor_do_those_that_were_denied_growth_keep_a_part_of_it() -> None:
    """They have nothing to waive, but were counted among those that share what there is."""
    arrays = Arrays(24, memory=2 * MIB, window_max=MIB, streams=24)
    arrays.send(arrays.streams, 2)
    budget = arrays.pair.right._state._budget
    assert budget.growers > 16, "more than can have grown"
    end = arrays.pair.now + 6 * REST
    while budget.growers > 1:
        arrays.send(arrays.streams[:1], 4)
        assert arrays.pair.now < end, "its window is halved for the sake of those at rest, again and again"
    assert budget.share == MIB


def test_one_that_had_waived_grows_again() -> None:
    arrays = Arrays(2, memory=6 * MIB, window_max=3 * MIB)
    one, other = arrays.streams
    arrays.send([one, other], 16)
    for busy, idle in ((one, other), (other, one)):
        arrays.send_until(busy, 3 * MIB)
        assert arrays.window(idle) == INITIAL


def test_those_that_have_rested_and_kept_their_credit_share_it_when_they_go_on() -> None:
    """They began to send while they were asked. Not counted any more, they kept all growth, and the third had none."""
    arrays = Arrays(3, waives=False, memory=16 * MIB, window_max=4 * MIB, opening_window=INITIAL)
    third, *others = arrays.streams
    arrays.send_together(others, 0.2)
    assert [arrays.window(stream) for stream in others] == [4 * MIB, 4 * MIB]
    arrays.send_together([third], 3 * REST)
    assert arrays.window(third) < MIB
    arrays.send_together(arrays.streams, 0.5)
    assert min(arrays.window(stream) for stream in arrays.streams) > 2 * MIB


def test_nothing_is_asked_back_while_nobody_lacks_it() -> None:
    arrays = Arrays(3, memory=256 * MIB, window_max=4 * MIB)
    arrays.send(arrays.streams, 16)
    windows = [arrays.window(stream) for stream in arrays.streams]
    assert min(windows) > MIB
    arrays.rest(5 * REST)
    assert [arrays.window(stream) for stream in arrays.streams] == windows


def script(*capabilities: Capability, **settings: int) -> Script:
    return Script(capabilities=capabilities or [Capability.WAIVERS], **settings)


# -- who sends ---------------------------------------------------------------------------------------------------------


def sent(one: Script) -> int:
    """Stream 1, on which a little was sent and 8 MiB granted; the cost of it."""
    one.accepted(1)
    cost = one.send(1, 1000)
    one.take()
    one.credit(1, 0, 8 * MIB)
    return cost


def ask_back(one: Script, consumed: int) -> None:
    """The peer asks for all of stream 1's credit beyond the initial one, and is given what there is."""
    for event in one.credit(1, consumed, consumed + INITIAL):
        assert event == Recalled(1, consumed, consumed + INITIAL)
        one.tunnel.streams.waive(1, consumed, consumed + INITIAL)


def test_what_is_asked_back_is_waived() -> None:
    one = script()
    cost = sent(one)
    one.credit(1, cost, cost + 8 * MIB)
    ask_back(one, cost)
    waived = 8 * MIB - INITIAL
    assert one.take() == [f"WAIVE 1#2 {waived}"]
    assert one.tunnel.streams.sendable(1) == INITIAL - COST
    ask_back(one, cost)
    assert one.take() == [], "once: the same word again is of the past"
    assert one.send(1, 500) == cost + waived + 500 + COST
    assert one.take() == ["DATA 1#3 500"]
    one.acknowledge(1, 4)
    total = cost + waived + 500 + COST
    assert Consumed(1, total) in one.credit(1, total, total + INITIAL)


def test_what_was_waived_is_not_on_its_way() -> None:
    """Or whoever asks why the stream is slow would hear of the line for good, and not of the array."""
    one = script()
    cost = sent(one)
    one.credit(1, cost, cost + 8 * MIB)
    ask_back(one, cost)
    one.send(1, INITIAL - COST)
    one.take()
    one.acknowledge(1, 4)
    flow = one.tunnel.streams.flow(1)
    assert flow is not None
    assert (flow.obstacle, flow.arrived) == (Obstacle.FAR, INITIAL)


@pytest.mark.parametrize("why", ["under way", "nothing sent", "not agreed", "ended"])
def test_it_is_kept(why: str) -> None:
    one = script(Capability.LEAN) if why == "not agreed" else script()
    if why == "nothing sent":
        one.accepted(1)
        one.credit(1, 0, 8 * MIB)
        ask_back(one, 0)
    else:
        cost = sent(one)
        one.credit(1, cost, cost + 8 * MIB)
        if why == "under way":
            one.send(1, 10)
        elif why == "ended":
            one.tunnel.streams.send_end(1, 1000, b"")
        one.take()
        ask_back(one, cost)
    assert one.take() == []


def test_who_means_to_send_with_it_keeps_it() -> None:
    """What its array has given already was read with that credit in view; the tunnel does not see it yet."""
    one = script()
    cost = sent(one)
    one.credit(1, cost, cost + MIB)
    assert Recalled(1, cost, cost + INITIAL) in one.credit(1, cost, cost + INITIAL)
    one.send(1, 400 * KIB)
    one.tunnel.streams.waive(1, cost, cost + INITIAL)
    assert [text for text in one.take() if text.startswith("WAIVE")] == []


def test_credit_beyond_our_own_bound_is_waived_as_well() -> None:
    """What is left is what was asked to be left, though we would not have used all of it."""
    one = script(window_max=MIB)
    cost = sent(one)
    one.credit(1, cost, cost + 8 * MIB)
    ask_back(one, cost)
    assert one.take() == [f"WAIVE 1#2 {8 * MIB - INITIAL}"]
    assert one.tunnel.streams.sendable(1) == INITIAL - COST


def test_who_is_asked_without_end_does_not_queue_answers_without_end() -> None:
    """Each CREDIT that asked back a single byte had us keep a frame until that was acknowledged."""
    one = script()
    cost = sent(one)
    one.acknowledge(1, 2)
    limit = cost + 8 * MIB
    one.credit(1, cost, limit)
    for n in range(65):
        asked_for_a_byte(one, cost + n, limit)
    assert one.tunnel.figures.unacked_bytes == 64 * (COST + 8)
    assert one.take() == [f"WAIVE 1#{2 + n} 1" for n in range(64)]
    asked_for_a_byte(one, cost + 64, limit)
    assert one.take() == []
    one.acknowledge(1, 3)
    asked_for_a_byte(one, cost + 64, limit)
    assert one.take() == ["WAIVE 1#66 1"], "who acknowledges may ask again"


def asked_for_a_byte(one: Script, consumed: int, limit: int) -> None:
    for _ in one.credit(1, consumed, limit - 1):
        one.tunnel.streams.waive(1, consumed, limit - 1)


def test_who_waits_for_room_hears_of_more_than_was_left() -> None:
    """Not of more than there was before: there may never be as much again."""
    one = script()
    cost = sent(one)
    one.credit(1, cost, cost + 8 * MIB)
    one.tunnel.streams.await_room(1)
    ask_back(one, cost)
    one.take()
    total = cost + 8 * MIB - INITIAL
    assert Writable(1) in one.credit(1, total, total + MIB)


def test_what_was_asked_for_once_is_not_asked_for_with_the_next_credit() -> None:
    one = script()
    cost = sent(one)
    one.credit(1, cost, cost + 8 * MIB)
    ask_back(one, cost)
    assert one.credit(1, cost, cost + 8 * MIB) == []


def test_a_frame_of_credit_asks_once_for_each_stream() -> None:
    one = script()
    cost = sent(one)
    one.credit(1, cost, cost + 8 * MIB)
    frame = encode_credit([(1, cost, cost + 8 * MIB - n) for n in range(1, 50_000)])
    assert one.give(FrameType.CREDIT, 0, 0, frame) == [Recalled(1, cost, cost + 8 * MIB - 49_999)]


# -- who receives ------------------------------------------------------------------------------------------------------


def granted(one: Script) -> int:
    """What the peer was granted on stream 2, and has not used."""
    window = one.tunnel._state.live[2].incoming.window
    assert window.consumed == window.arrived
    return window.limit - window.consumed


def wide(*capabilities: Capability) -> Script:
    """Stream 2 has been granted 1 MiB, and 1256 of that were used. In vain another one wants to grow."""
    one = script(*capabilities, opening_window=MIB, memory=4 * MIB)
    one.open(2)
    one.tunnel.streams.accept(2)
    one.data(2, 1, 1000)
    one.tunnel.streams.consumed(2)
    one.flush()
    return one


def looked(one: Script) -> list[str]:
    """CREDIT that goes when it was looked again for streams at rest, while growth is denied."""
    one.tunnel._state._budget.denied = True
    one.at(one.now + REST)
    return [text for text in one.take() if text.startswith("CREDIT")]


@pytest.mark.parametrize("signs_of_life", [False, True])
def test_it_is_asked_back_from_who_has_sent_next_to_nothing_from_one_look_to_the_next(signs_of_life: bool) -> None:
    one = wide()
    assert looked(one) == []
    used = 1256
    if signs_of_life:
        one.data(2, 2, INITIAL // 4 - COST)
        one.tunnel.streams.consumed(2)
        one.at(one.now + 0.5)
        one.take()
        used += INITIAL // 4
    assert looked(one) == [f"CREDIT 2:{used}/{used + INITIAL}"]
    one.at(one.now + REST)
    assert "CREDIT" not in str(one.take()), "nobody has been denied growth since"
    held = one.tunnel.figures.credit_bytes
    amount = granted(one) - INITIAL
    one.give(FrameType.WAIVE, 2, 2 + signs_of_life, encode_waive(amount))
    assert granted(one) == INITIAL
    assert one.tunnel.figures.credit_bytes == held - amount
    assert looked(one) == looked(one) == [], "nothing is left to ask for"


def test_who_is_told_of_credit_is_not_asked_for_it_in_the_same_frame() -> None:
    """Its array may be about to use it."""
    one = wide()
    assert looked(one) == []
    one.data(2, 2, INITIAL // 4 - COST)
    one.tunnel.streams.consumed(2)
    used = 1256 + INITIAL // 4
    assert looked(one) == [f"CREDIT 2:{used}/{used + granted(one)}"]
    assert granted(one) > INITIAL
    assert looked(one) == [f"CREDIT 2:{used}/{used + INITIAL}"], "if it is still at rest by then"


def test_who_sends_is_not_asked() -> None:
    one = wide()
    used = 1256
    for number in range(2, 6):
        one.data(2, number, INITIAL // 4)
        one.tunnel.streams.consumed(2)
        used += INITIAL // 4 + COST
        one.at(one.now + 0.5)
        one.take()
        assert looked(one) == []


def test_whose_array_has_not_taken_all_is_not_asked() -> None:
    """It would not give anything yet."""
    one = wide()
    one.data(2, 2, 100)
    assert looked(one) == looked(one) == []
    one.tunnel.streams.consumed(2)
    one.at(one.now + 0.5)
    one.take()
    assert looked(one) == [f"CREDIT 2:{1256 + 356}/{1256 + 356 + INITIAL}"]


def test_who_has_ended_is_not_asked() -> None:
    """It would never answer."""
    one = wide()
    one.end(2, 2, 1000)
    one.at(one.now + 0.5)
    one.take()
    assert looked(one) == looked(one) == []


def test_who_was_reset_is_not_asked() -> None:
    """The stream lives until the peer has heard of that."""
    one = wide()
    one.tunnel.streams.reset(2, ResetCode.INTERNAL, "")
    one.take()
    assert looked(one) == looked(one) == []


def test_who_has_sent_nothing_is_not_asked() -> None:
    """It would ignore that, for it may be a late word about what it began with."""
    one = script(opening_window=MIB, memory=4 * MIB)
    one.open(2)
    one.tunnel.streams.accept(2)
    one.flush()
    assert looked(one) == looked(one) == []


def test_who_does_not_know_waivers_is_not_asked() -> None:
    one = wide(Capability.LEAN)
    assert looked(one) == looked(one) == []
    with pytest.raises(PeerError, match="WAIVE 2 of stream 2 broke the protocol: it was not agreed on"):
        one.give(FrameType.WAIVE, 2, 2, encode_waive(1))


def test_more_than_there_is_cannot_be_waived() -> None:
    one = wide()
    amount = granted(one) + 1
    with pytest.raises(PeerError, match=f"WAIVE 2 of stream 2.*{amount} exceed the credit"):
        one.give(FrameType.WAIVE, 2, 2, encode_waive(amount))


@pytest.mark.parametrize("left", [0, 1000])
def test_who_waives_more_than_was_asked_for_is_not_left_without(left: int) -> None:
    """CREDIT goes when something was consumed, and who has no credit can send nothing that could be."""
    one = wide()
    amount = granted(one) - left
    one.give(FrameType.WAIVE, 2, 2, encode_waive(amount))
    assert one.take() == ["ACK 2:3", f"CREDIT 2:{1256 + amount}/{1256 + amount + INITIAL}"]
    assert granted(one) == INITIAL
    one.data(2, 3, INITIAL - COST)


def test_it_comes_when_all_before_it_was_consumed() -> None:
    """Otherwise the sender would take for consumed what the array has not had."""
    one = wide()
    one.data(2, 2, 10)
    with pytest.raises(PeerError, match=r"WAIVE 3 of stream 2.*DATA that came before it is not consumed"):
        one.give(FrameType.WAIVE, 2, 3, encode_waive(1))


def test_data_that_arrives_before_it_counts_the_same() -> None:
    """By another lane."""
    one = wide()
    one.join(2)
    amount = granted(one) - INITIAL
    one.data(2, 3, 500, lane=2)
    one.give(FrameType.WAIVE, 2, 2, encode_waive(amount))
    one.tunnel.streams.consumed(2)
    assert granted(one) == INITIAL - 500 - COST
    one.at(one.now + 1)
    assert any(text.startswith(f"CREDIT 2:{1256 + amount + 756}/") for text in one.take())


def test_a_stream_that_has_waived_ends_as_any_other() -> None:
    one = script()
    cost = sent(one)
    one.credit(1, cost, cost + 8 * MIB)
    ask_back(one, cost)
    one.tunnel.streams.send_end(1, 1000, b"")
    one.end(1, 1)
    assert one.take()[-2:] == [f"WAIVE 1#2 {8 * MIB - INITIAL}", "END 1#3 1000"]
    one.acknowledge(1, 4)
    assert one.tunnel.figures.streams == 0
    assert one.take() == ["ACK 1:over"]


def test_a_waiver_that_was_lost_goes_again() -> None:
    one = script()
    cost = sent(one)
    one.acknowledge(1, 2)
    one.credit(1, cost, cost + 8 * MIB)
    ask_back(one, cost)
    waiver = f"WAIVE 1#2 {8 * MIB - INITIAL}"
    assert one.take() == [waiver]
    one.another(2)
    one.tunnel.lane_down(1, one.now)
    assert waiver in one.take(2)
