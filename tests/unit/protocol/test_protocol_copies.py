"""While packets are lost, what is urgent and short goes by several lanes; the peer takes each frame once."""

import pytest

from proxy.protocol.codes import FrameType
from proxy.protocol.copies import BURST, COPY_MAX, MUCH, PART
from proxy.protocol.credit import DATA_OVERHEAD
from proxy.protocol.frames import encode_token
from proxy.protocol.lanes import COPIES
from proxy.protocol.reader import HEADER_BYTES, PLAIN_MAX
from proxy.protocol.share import PLAIN, Share
from tests.unit.protocol.line import MBIT, on_wire
from tests.unit.protocol.playbook import ALL, Pair, Script, events_of, lines, literal, taken

LINE = 45 * MBIT
QUESTION, BULK = literal(100), literal(60_000)


def lossy(lanes: int) -> Script:
    """So many lanes, a stream that is open, and packets are lost."""
    script = Script()
    for lane in range(2, lanes + 1):
        script.another(lane)
    script.accepted()
    script.tunnel.copy(LINE)
    script.tunnel.reserve(2)
    return script


def by_lanes(script: Script, *lanes: int) -> list[list[str]]:
    """What goes by these lanes, which all have room; the first one is for what is urgent."""
    found = script.take_all(dict.fromkeys(lanes, ALL))
    return [found[lane] for lane in lanes]


def ask(script: Script, stream: int = 1, question: bytes = QUESTION) -> None:
    script.tunnel.streams.send_data(stream, question, len(question))


def test_a_question_goes_by_the_two_newest_of_three() -> None:
    script = lossy(3)
    ask(script)
    assert by_lanes(script, 3, 2, 1) == [["DATA 1#1 100"], ["DATA 1#1 100"], []]
    assert script.tunnel.quiet
    assert by_lanes(script, 3, 2, 1) == [[], [], []]
    figures = script.tunnel.figures
    assert (figures.copies, figures.copied_bytes) == (1, HEADER_BYTES + len(QUESTION))


def test_of_four_it_goes_by_the_three_newest() -> None:
    script = lossy(4)
    script.tunnel.reserve(3)
    ask(script)
    assert by_lanes(script, 4, 3, 2, 1) == [["DATA 1#1 100"]] * 3 + [[]]
    assert script.tunnel.figures.copies == COPIES


def test_of_more_it_goes_by_no_more() -> None:
    script = lossy(6)
    script.tunnel.reserve(5)
    ask(script)
    assert sum(map(len, by_lanes(script, 6, 5, 4, 3, 2, 1))) == 1 + COPIES


def test_of_two_lanes_bulk_takes_the_copies() -> None:
    script = lossy(2)
    ask(script)
    assert by_lanes(script, 2, 1) == [["DATA 1#1 100"]] * 2


def test_there_is_none_by_a_single_lane() -> None:
    script = lossy(1)
    ask(script)
    assert script.take(1) == ["DATA 1#1 100"]
    assert script.tunnel.quiet


def test_nor_while_nothing_is_lost() -> None:
    script = lossy(3)
    script.tunnel.copy(0)
    ask(script)
    assert by_lanes(script, 3, 2, 1) == [["DATA 1#1 100"], [], []]


@pytest.mark.parametrize(("spared", "express"), [(1, {3}), (2, {2, 3}), (64, {2, 3})])
def test_one_lane_remains_for_bulk(spared: int, express: set[int]) -> None:
    script = lossy(3)
    script.tunnel.reserve(spared)
    assert script.tunnel.express == express


def test_what_fills_no_packet_only() -> None:
    script = lossy(3)
    for size in (COPY_MAX - HEADER_BYTES, COPY_MAX - HEADER_BYTES + 1):
        ask(script, 1, literal(size))
        assert bool(by_lanes(script, 3, 2)[1]) == (size + HEADER_BYTES <= COPY_MAX)


def test_a_stream_that_sends_much_is_bulk() -> None:
    script = lossy(3)
    ask(script, 1, BULK)
    ask(script)
    assert by_lanes(script, 3, 2, 1) == [[], [], ["DATA 1#1 60000", "DATA 1#2 100"]]


def test_who_has_much_under_way_waits_for_no_single_frame() -> None:
    """Known data, which is short however much it delivers. Other frames, such as the end, are copied as ever."""
    script = lossy(3)
    script.credit(1, 0, 1 << 30)

    def copied() -> bool:
        first, second = by_lanes(script, 3, 2)
        assert first
        return bool(second)

    plain = PLAIN_MAX - DATA_OVERHEAD
    before = MUCH // PLAIN_MAX - 1
    for number in range(before + 3):
        script.send(1, plain)
        assert copied() == (number < before)
    script.credit(1, 3 * PLAIN_MAX, 1 << 30)
    ask(script)
    assert copied()
    script.send(1, plain)
    assert not copied()
    script.tunnel.streams.send_end(1, (before + 4) * plain + len(QUESTION), b"")
    assert copied()


def test_a_lane_that_had_no_room_for_them_does_not_take_them_later() -> None:
    script = lossy(3)
    ask(script)
    assert by_lanes(script, 3) == [["DATA 1#1 100"]]
    assert by_lanes(script, 2) == [[]]


def test_they_keep_to_what_the_lane_takes() -> None:
    script = lossy(3)
    for _ in range(6):
        ask(script, 1, literal(1000))
    found = script.take_all({3: ALL, 2: 3 * (1000 + HEADER_BYTES)})
    assert [len(found[lane]) for lane in (3, 2)] == [6, 3]


def test_all_together_are_a_part_of_the_line() -> None:
    script = lossy(3)
    script.credit(1, 0, 1 << 30)
    script.tunnel.copy(10 * MBIT)
    copied, began = 0, script.now
    while script.now < began + 10:
        for _ in range(20):
            ask(script)
        copied += on_wire(len(by_lanes(script, 3, 2)[1]) * (len(QUESTION) + HEADER_BYTES))
        script.now += 0.01
    allowed = 10 * MBIT * PART * 10
    assert 0.5 * allowed < copied < allowed + 2 * BURST


def test_copies_are_paid_for() -> None:
    paid = []
    for copying in (0, LINE):
        script = lossy(3)
        script.tunnel.copy(copying)
        share = Share("slow", maximum=MBIT, guarantee=MBIT / 2)
        script.tunnel.streams.assign(1, share)
        account = script.tunnel.scheduler.account(share)
        ask(script)
        by_lanes(script, 3, 2)
        assert account.cap is not None
        assert account.guarantee is not None
        paid.append((account.wire, account.cap.free_at(True) - script.now, account.guarantee.paid))
    assert paid[1][0] == 2 * paid[0][0]
    assert paid[1][1] > paid[0][1]
    assert paid[1][2] > paid[0][2]


def test_copies_that_were_never_sent_cost_nothing() -> None:
    script = lossy(3)
    script.take(3)
    account = script.tunnel.scheduler.account(PLAIN)
    before = account.wire
    ask(script)
    by_lanes(script, 3)
    once = account.wire - before
    ask(script)
    assert len(script.take_all({3: ALL, 2: len(QUESTION)})[2]) == 0, "it has room for less than one"
    assert account.wire - before == 2 * once


def test_a_lane_that_carries_copies_is_asked_whether_it_lives() -> None:
    """PROTOCOL.md: PING each second while the lane carries streams."""
    script = lossy(3)

    def pings() -> list[str]:
        """On lane 2, once a second has passed."""
        script.now += 1.0
        script.tunnel.tick(script.now)
        return [text for text in lines(taken(script.tunnel, 2, ALL, script.now)) if text.startswith("PING")]

    script.give(FrameType.PONG, 0, 0, encode_token(1), lane=2)
    assert pings() == []
    ask(script)
    assert by_lanes(script, 3, 2)[1] == ["DATA 1#1 100"]
    assert pings() == ["PING 2"]


def test_the_peer_takes_each_frame_once() -> None:
    pair = Pair()
    for lane in (1, 2, 3):
        pair.another(lane)
    pair.left.copy(LINE)
    stream = pair.left.streams.open("array", "10.0.0.2")
    pair.carry_all([3, 2], pair.left)
    pair.right.streams.accept(stream)
    pair.settle(3)
    pair.left.streams.send_data(stream, QUESTION, len(QUESTION))
    first, second = pair.carry_all([3, 2], pair.left)
    assert first == second != []
    assert [type(event).__name__ for event in events_of(pair.right)] == ["StreamOffered", "DataReceived"]
    assert pair.right.figures.duplicates == pair.left.figures.copies == 2
