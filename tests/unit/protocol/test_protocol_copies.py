"""While packets are lost, what is urgent and short goes by two lanes; the peer takes each frame once."""

from proxy.protocol.copies import COPY_MAX, PART
from proxy.protocol.reader import HEADER_BYTES
from proxy.protocol.share import Share
from tests.unit.protocol.line import MBIT
from tests.unit.protocol.playbook import Pair, Script, batch, events_of


def payload(size: int) -> bytes:
    """A batch of so many bytes, plain and not."""
    return batch(size, filling=size - 12)


QUESTION, BULK = payload(100), payload(60_000)


def lossy(lanes: int) -> Script:
    """So many lanes, a stream that is open, and packets are lost."""
    script = Script()
    for lane in range(2, lanes + 1):
        script.join(lane)
        script.take(lane)
    script.accepted()
    script.tunnel.copy(True)
    return script


def ask(script: Script, stream: int = 1, question: bytes = QUESTION) -> None:
    script.tunnel.send_data(stream, question, len(question))


def test_a_question_goes_by_the_two_newest_of_three() -> None:
    script = lossy(3)
    ask(script)
    assert script.take(3) == ["DATA 1#1 100"]
    assert [lane for lane in (1, 2, 3) if script.tunnel.wants_to_send(lane)] == [2]
    assert script.take(1) == []
    assert script.take(2) == ["DATA 1#1 100"]
    assert script.tunnel.quiet
    figures = script.tunnel.figures
    assert (figures.copies, figures.copied_bytes) == (1, HEADER_BYTES + len(QUESTION))


def test_of_two_lanes_bulk_takes_the_copies() -> None:
    script = lossy(2)
    ask(script)
    assert script.take(2) == ["DATA 1#1 100"]
    assert script.take(1) == ["DATA 1#1 100"]


def test_there_is_none_by_a_single_lane() -> None:
    script = lossy(1)
    ask(script)
    assert script.take(1) == ["DATA 1#1 100"]
    assert script.tunnel.quiet


def test_nor_while_nothing_is_lost() -> None:
    script = lossy(3)
    script.tunnel.copy(False)
    ask(script)
    assert script.take(3) == ["DATA 1#1 100"]
    assert script.tunnel.quiet
    assert script.tunnel.express == {3}
    script.tunnel.copy(True)
    assert script.tunnel.express == {2, 3}


def test_what_fills_no_packet_only() -> None:
    script = lossy(3)
    for size in (COPY_MAX - HEADER_BYTES, COPY_MAX - HEADER_BYTES + 1):
        ask(script, 1, payload(size))
        script.take(3)
        assert bool(script.take(2)) == (size + HEADER_BYTES <= COPY_MAX)


def test_a_stream_that_sends_much_is_bulk() -> None:
    script = lossy(3)
    ask(script, 1, BULK)
    ask(script)
    assert script.take(3) == []
    assert script.take(1) == ["DATA 1#1 60000", "DATA 1#2 100"]
    assert script.take(2) == script.take(3) == []


def test_a_lane_that_is_gone_or_silent_takes_none() -> None:
    script = lossy(3)
    ask(script)
    script.take(3)
    script.tunnel.lane_down(2, script.now)
    assert not any(line.startswith("DATA") for line in script.take(1))
    assert not script.tunnel.wants_to_send()


def test_beside_bulk_copies_are_a_part_of_what_is_sent() -> None:
    script = lossy(3)
    bulk, asking = 1, script.accepted(3)
    script.take(2)
    for stream in (bulk, asking):
        script.credit(stream, 0, 1 << 30)
    sent = copied = 0
    for _ in range(200):
        while script.tunnel.sendable(bulk) >= len(BULK):
            ask(script, bulk, BULK)
        for _ in range(40):
            ask(script, asking)
        sent += len(script.take(3)) * len(QUESTION)
        copied += len(script.take(2)) * len(QUESTION)
        script.now += 0.1
    assert 0.5 * PART * sent < copied < 1.1 * PART * sent + (40 << 10)


def test_copies_are_paid_for() -> None:
    script = lossy(3)
    wire = []
    for copying in (False, True):
        script.tunnel.copy(copying)
        share = Share(f"copying {copying}", maximum=MBIT)
        script.tunnel.assign(1, share)
        account = script.tunnel.scheduler.account(share)
        ask(script)
        script.take(3)
        assert account.cap is not None
        wire.append((account.wire, account.cap.free_at(True) - script.now))
    assert wire[1][0] == 2 * wire[0][0]
    assert wire[1][1] > wire[0][1]


def test_the_peer_takes_each_frame_once() -> None:
    pair = Pair()
    for lane in (1, 2, 3):
        pair.dial(lane)
        pair.settle(lane)
    pair.left.copy(True)
    stream = pair.left.open("array", "10.0.0.2")
    for lane in (3, 2):
        pair.carry(lane, pair.left)
    pair.right.accept(stream)
    pair.settle(3)
    pair.left.send_data(stream, QUESTION, len(QUESTION))
    assert pair.carry(3, pair.left) == pair.carry(2, pair.left) != []
    assert [type(event).__name__ for event in events_of(pair.right)] == ["StreamOffered", "DataReceived"]
    assert pair.right.figures.duplicates == pair.left.figures.copies == 2
