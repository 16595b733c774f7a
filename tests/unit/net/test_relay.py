"""A relay waits and goes on, and once it has ended does nothing more, whatever still calls it."""

import errno
import os
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock, call

import pytest

from proxy.net.delivery import TEXT_SECONDS
from proxy.net.endings import reset_connection
from proxy.net.relay import Relay
from proxy.net.rounds import LONGEST, Rounds
from proxy.net.turns import Turns
from proxy.observe.waiting import Waiting
from proxy.protocol.codes import ResetCode
from proxy.protocol.reader import HEADER_BYTES
from proxy.reduction.batch import CODEC_CONTEXT, assemble
from proxy.reduction.contexts import ContextWriter
from proxy.reduction.encoder import READ_BYTES
from proxy.reduction.windows import WINDOW_LOG_MIN, ContextMemory
from tests.unit.net.connected import Connected, connection, ended, resting
from tests.unit.net.loop import Clock, Loop
from tests.unit.net.sources import contended
from tests.unit.net.tcp import await_reset
from tests.unit.reduction.batches import CHUNK, NAME, WHOLE, batch, literal
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, encoder_of, noise, send, site, two_sites


def test_a_stream_that_rests_for_the_disk_may_end_meanwhile(connected: Connected) -> None:
    """The worker still calls it. Its tunnel may have been lost, so that nothing may be asked about its stream."""
    connected.owner.worker.congested = True
    connected.owner.streams.sendable.return_value = 4 << 10
    connected.relay.get_buffer(0)[:1] = b"x"
    connected.read(1)
    (relieved,), _ = connected.owner.worker.when_relieved.call_args
    connected.relay.close(ResetCode.PEER_RESTARTED, "the peer has lost its side", tell=False)
    connected.owner.streams.grain.side_effect = AssertionError("there is no such stream")
    relieved()
    connected.transport.resume_reading.assert_not_called()


def test_a_stream_whose_turn_is_over_is_read_again_when_it_comes_round(connected: Connected) -> None:
    connected.read()
    connected.transport.pause_reading.assert_not_called()
    connected.owner.turns.spend.return_value = True
    connected.read()
    connected.transport.pause_reading.assert_called_once_with()
    (reader, go_on), _ = connected.owner.turns.wait.call_args
    assert reader is connected.relay
    go_on()
    connected.transport.resume_reading.assert_called_once_with()


def test_a_question_that_fills_its_read_goes_when_its_turn_has_come_round(connected: Connected, loop: Loop) -> None:
    """It looked as if there were more, so it waited; nothing else will ever be read."""
    connected.owner.turns = Turns()
    contended(connected.owner.turns, loop)
    asked = len(connected.relay.get_buffer(0))
    connected.read()
    connected.transport.pause_reading.assert_called_once_with()
    loop.run(10.0)
    connected.transport.resume_reading.assert_called_once_with()
    assert sum(args[2] for args, _ in connected.owner.streams.send_data.call_args_list) == asked


def test_a_stream_may_end_while_it_waits_for_its_turn(connected: Connected) -> None:
    connected.owner.turns.spend.return_value = True
    connected.read()
    (_, go_on), _ = connected.owner.turns.wait.call_args
    connected.relay.close(ResetCode.PEER_RESTARTED, "the peer has lost its side", tell=False)
    go_on()
    connected.transport.resume_reading.assert_not_called()


def test_an_array_that_has_ended_its_side_is_not_waited_for_although_its_last_bytes_find_the_disk_late(
    connected: Connected,
) -> None:
    """It has no more to send, so nothing holds it up. Who has ended has no room, so such a wait never ended.

    For as long as the far array went on the stream said that it waits for the CPU.
    """
    connected.relay.get_buffer(0)[:1000] = noise(1000)
    connected.read(1000)
    connected.owner.worker.congested = connected.owner.worker.kick.return_value = True
    connected.relay.eof_received()
    connected.transport.pause_reading.assert_not_called()
    connected.owner.worker.when_relieved.assert_not_called()
    connected.owner.streams.flow.assert_not_called()


@pytest.mark.parametrize("state", [resting, ended])
def test_an_array_that_resets_its_connection_while_nobody_reads_it_is_noticed(
    connected: Connected, state: Callable[[Connected], None]
) -> None:
    """The event loop does not say it: it hears of what it reads. The far array must not be kept for nothing."""
    state(connected)
    connected.relay.sample()
    connected.owner.gone.assert_not_called()
    reset_connection(connected.far)
    connected.far.close()
    await_reset(connected.near)
    connected.relay.sample()
    connected.owner.gone.assert_called_once_with(connected.relay)
    connected.owner.streams.reset.assert_called_once_with(1, ResetCode.ORIGIN_RESET, connected.relay.reason)
    assert connected.relay.reason == "the array reset its connection"


def test_why_an_array_s_connection_failed_is_said_without_python_s_words(connected: Connected) -> None:
    connected.relay.connection_lost(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    reset = connected.owner.streams.reset
    reset.assert_called_once_with(1, ResetCode.ORIGIN_RESET, "the array's connection failed: Broken pipe")


@pytest.mark.parametrize("number", [errno.ECONNRESET, errno.ENOTCONN])
def test_a_reset_is_called_so_whenever_it_is_noticed(connected: Connected, number: int) -> None:
    connected.relay.connection_lost(OSError(number, os.strerror(number)))
    reset = connected.owner.streams.reset
    reset.assert_called_once_with(1, ResetCode.ORIGIN_RESET, "the array reset its connection")


def test_whoever_counts_a_relay_hears_once_that_it_has_closed(connected: Connected) -> None:
    closed: list[Relay] = []
    connected.relay.when_closed = closed.append
    connected.relay.connection_lost(None)
    connected.relay.close(ResetCode.PEER_RESTARTED, "the peer has lost its side", tell=False)
    assert closed == [connected.relay]


@pytest.mark.parametrize("first", [0, 1])
def test_also_when_both_arrays_have_ended_their_sides(connected: Connected, first: int) -> None:
    closed: list[Relay] = []
    connected.relay.when_closed = closed.append
    ends: list[Callable[[], object]] = [connected.relay.eof_received, lambda: connected.relay.delivery.end(0, b"")]
    ends[first]()
    assert not closed
    ends[1 - first]()
    assert closed == [connected.relay]


def known(data: bytes) -> Site:
    """A site that has sent the data."""
    near, far = two_sites(ShelfStore(entries=100), ShelfStore(entries=100))
    send(near, far, [data])
    return near


def test_what_was_on_its_way_when_a_stream_ends_holds_no_container(loop: Loop) -> None:
    """The peer can ask for nothing of it any more, so it may be evicted."""
    data = noise(60_000, 5)
    here = known(data)
    with connection(here) as made:
        while data:
            room = made.relay.get_buffer(0)[: len(data)]
            room[:], data = data[: len(room)], data[len(room) :]
            made.read(len(room))
        made.relay.eof_received()
        assert made.owner.streams.send_data.called
        assert here.store.pinned
        made.relay.close(ResetCode.ORIGIN_RESET, "the array reset its connection")
    assert not here.store.pinned


def test_nor_does_what_was_not_on_its_way_yet(loop: Loop) -> None:
    data = noise(1 << 18, 5)
    here = known(data)
    with connection(here) as made:
        room = made.relay.get_buffer(0)
        room[:] = data[: len(room)]
        made.read(len(room))
        assert not made.owner.streams.send_data.called
        assert here.store.pinned
        made.relay.close(ResetCode.ORIGIN_RESET, "the array reset its connection")
    assert not here.store.pinned


def test_a_stream_that_is_reset_gives_its_context_back(loop: Loop) -> None:
    """All streams of a tunnel share that memory: the peer may go on to count on what it has been given back."""
    memory, said = ContextMemory(), noise(1000)
    literals = ContextWriter(1, WINDOW_LOG_MIN).encode(said)
    with connection(site(ShelfStore()), memory) as made:
        made.relay.delivery.data(memoryview(assemble(1000, CODEC_CONTEXT, literal(said), 1000, [literals])))
        assert made.transport.writelines.call_args_list == [call([said])]
        assert memory.used == 1 << WINDOW_LOG_MIN
        made.relay.close(ResetCode.ORIGIN_RESET, "the array reset its connection")
    assert memory.used == 0


def test_a_run_that_is_missed_is_no_missed_reference(loop: Any) -> None:
    """It costs the peer no chunk; what of its chunks is missed then does."""
    data = noise(20_000, 5)
    encoder = encoder_of(known(data))
    encoder.buffer(len(data))[:] = data
    encoder.received(len(data))
    encoder.finish()
    batch = encoder.take()
    assert batch is not None
    ((run, listed),) = batch.lists.items()
    owner = MagicMock()
    relay = Relay(owner, 1, "array", "here", MagicMock(encoder=encoder), opener=True)
    relay.missed((run,))
    relay.missed((listed[:32], listed[32:64]))
    assert [args[0] for args, _ in owner.holdings.reliability.missed.call_args_list] == [2]
    assert owner.fills.add.call_args_list == [call(relay, (run,)), call(relay, (listed[:32], listed[32:64]))]
    assert relay.listed(run) == listed
    assert relay.listed(listed[:32]) is None


def test_a_stream_that_rests_goes_on_when_what_it_held_has_cost_less(connected: Connected, loop: Loop) -> None:
    """Nobody else would wake it: its credit was never used up."""
    connected.owner.streams.sendable.return_value = 4 << 10
    connected.owner.streams.flow.return_value = None
    connected.relay.get_buffer(0)[:] = noise(READ_BYTES)
    connected.read()
    connected.transport.pause_reading.assert_called_once_with()
    connected.owner.streams.sendable.return_value = READ_BYTES + (6 << 10)
    loop.run(1.0)
    connected.transport.resume_reading.assert_called_once_with()


def test_but_while_credit_is_due_it_waits_for_that(connected: Connected, loop: Loop) -> None:
    """Of a window of 384 KiB the last 50 KiB went in 14 batches, a read and a rest for each."""
    streams = connected.owner.streams
    streams.sendable.return_value, streams.flow.return_value, streams.credit_due.return_value = 4 << 10, None, True
    connected.relay.get_buffer(0)[:] = noise(READ_BYTES)
    connected.read()
    streams.await_room.reset_mock()
    streams.flow.reset_mock()
    streams.sendable.return_value = READ_BYTES + (6 << 10)
    loop.run(1.0)
    connected.transport.resume_reading.assert_not_called()
    streams.await_room.assert_called_with(1)
    assert streams.flow.called, "what left the least room before all that was held had gone may be something else"
    connected.relay.writable()
    connected.transport.resume_reading.assert_called_once_with()


def test_after_credit_was_given_back_no_more_is_read_than_there_is_credit_for(connected: Connected) -> None:
    """How much the array may give was reckoned with what is gone: the batch would cost more than may be sent."""
    streams = connected.owner.streams
    streams.waive.side_effect = lambda *_: streams.sendable.configure_mock(return_value=64 << 10)
    assert len(connected.relay.get_buffer(0)) > 64 << 10
    connected.relay.recalled(1000, 1000 + (64 << 10))
    streams.waive.assert_called_once_with(1, 1000, 1000 + (64 << 10))
    assert len(connected.relay.get_buffer(0)) <= 64 << 10


def test_after_all_credit_was_given_back_nothing_is_read_until_there_is_some(connected: Connected) -> None:
    """A peer may ask for more than ours does. Even a byte would cost more than may be sent."""
    streams = connected.owner.streams
    streams.flow.return_value = None
    streams.waive.side_effect = lambda *_: streams.sendable.configure_mock(return_value=0)
    connected.relay.recalled(1000, 1000)
    connected.transport.pause_reading.assert_called_once_with()
    streams.await_room.assert_called_once_with(1)
    streams.sendable.return_value = 1 << 20
    connected.relay.writable()
    connected.transport.resume_reading.assert_called_once_with()


def test_credit_for_what_was_read_is_not_given_back(connected: Connected) -> None:
    """What fills its read looks as if more followed, so the end of it waits."""
    asked = len(connected.relay.get_buffer(0))
    connected.read()
    assert sum(args[2] for args, _ in connected.owner.streams.send_data.call_args_list) < asked
    connected.relay.recalled(1000, 1000 + (64 << 10))
    connected.owner.streams.waive.assert_not_called()


def test_but_while_the_disk_lags_not_before_that_is_over(connected: Connected, loop: Loop) -> None:
    connected.owner.streams.sendable.return_value = 4 << 10
    connected.owner.streams.flow.return_value = None
    connected.relay.get_buffer(0)[:] = noise(READ_BYTES)
    connected.read()
    connected.transport.pause_reading.assert_called_once_with()
    connected.owner.worker.congested = True
    connected.owner.streams.sendable.return_value = READ_BYTES + (6 << 10)
    loop.run(1.0)
    connected.transport.resume_reading.assert_not_called()
    (relieved,) = connected.owner.worker.when_relieved.call_args.args
    relieved()
    connected.transport.resume_reading.assert_called_once_with()


def test_an_array_that_does_not_read_keeps_nobody_from_asking(connected: Connected) -> None:
    """What its batch lacks has come: it is decoded all the same; what follows it waits for the array."""
    connected.relay.delivery.data(batch(WHOLE, plain=1000))
    connected.owner.streams.send_miss.assert_called_once_with(1, [NAME])
    connected.relay.pause_writing()
    connected.relay.delivery.data(batch(literal(b"more"), literals=b"more"))
    connected.relay.delivery.filled(NAME, 0, 1000, CHUNK)
    assert connected.transport.writelines.call_args_list == [call([CHUNK])]
    assert not connected.owner.misses.asking(1)
    connected.relay.resume_writing()
    assert connected.transport.writelines.call_args_list == [call([CHUNK]), call([b"more"])]


def test_what_its_peer_has_no_time_left_for_is_delivered_in_the_next_round(loop: Loop) -> None:
    """In order, with what comes meanwhile behind it; an end is one only then."""
    with connection(site(ShelfStore())) as connected:
        clock = Clock()
        connected.owner.rounds = Rounds(clock)
        with connected.owner.rounds:
            clock.now += LONGEST
            for part in (b"one", b"two"):
                connected.relay.delivery.data(batch(literal(part), literals=part))
            connected.relay.delivery.end(6, b"")
        connected.transport.writelines.assert_not_called()
        connected.transport.write_eof.assert_not_called()
        assert connected.owner.rounds.over
        loop.next_round()
        assert connected.transport.writelines.call_args_list == [call([b"one"]), call([b"two"])]
        connected.transport.write_eof.assert_called_once_with()


def test_what_comes_while_the_disk_lags_waits_once(connected: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[Waiting] = []
    monkeypatch.setattr(connected.relay.waits, "inward", states.append)
    connected.owner.worker.congested = True
    for part in (b"one", b"two"):
        connected.relay.delivery.data(batch(literal(part), literals=part))
        assert states[-1] is Waiting.STORE
    connected.owner.worker.when_relieved.assert_called_once()
    connected.owner.worker.congested = False
    (relieved,) = connected.owner.worker.when_relieved.call_args.args
    relieved()
    assert connected.transport.writelines.call_args_list == [call([b"one"]), call([b"two"])]
    assert states[-1] is Waiting.PEER


def test_a_stream_may_end_while_it_waits_for_the_next_round(loop: Loop) -> None:
    with connection(site(ShelfStore())) as connected:
        clock = Clock()
        connected.owner.rounds = Rounds(clock)
        with connected.owner.rounds:
            clock.now += LONGEST
            connected.relay.delivery.data(batch(literal(b"one"), literals=b"one"))
        connected.relay.close(ResetCode.PEER_RESTARTED, "the peer has lost its side", tell=False)
        loop.next_round()
        connected.transport.writelines.assert_not_called()


@pytest.mark.parametrize("total", [2, 4])
def test_an_end_after_another_number_of_bytes_is_none(connected: Connected, total: int) -> None:
    """The array is not told that it has everything: something was lost or came twice."""
    connected.relay.delivery.data(batch(literal(b"one"), literals=b"one"))
    connected.relay.delivery.end(total, b"")
    connected.owner.breach.assert_called_once_with(f"DATA on stream 1: END after {total} bytes, but 3 were sent")
    connected.transport.write_eof.assert_not_called()
    assert not connected.relay.delivery.over


def test_what_is_kept_of_a_text_goes_to_the_array_before_its_end(connected: Connected) -> None:
    """The far target has ended within it. Nothing can be given to an array behind the end."""
    connected.relay.coders.decoder.let_go = lambda: [b"TargetAddress=10."]  # type: ignore[method-assign]
    connected.relay.delivery.end(0, b"")
    assert connected.transport.mock_calls[-2:] == [call.writelines([b"TargetAddress=10."]), call.write_eof()]


@pytest.fixture
def within_a_text(connected: Connected, monkeypatch: pytest.MonkeyPatch) -> Connected:
    """The far target has stopped in the middle of a text, behind other bytes."""
    decoder = connected.relay.coders.decoder
    monkeypatch.setattr(type(decoder), "gathered", 17)
    monkeypatch.setattr(decoder, "let_go", lambda: [b"TargetAddress=10."])
    connected.owner.reachable = True
    connected.relay.delivery.data(batch(literal(b"one"), literals=b"one"))
    return connected


def test_what_is_kept_of_a_text_is_given_out_when_its_rest_does_not_come(within_a_text: Connected, loop: Loop) -> None:
    loop.run(TEXT_SECONDS)
    assert within_a_text.transport.writelines.call_args_list == [call([b"one"]), call([b"TargetAddress=10."])]


def test_but_not_while_what_has_come_cannot_be_decoded(within_a_text: Connected, loop: Loop) -> None:
    """A chunk is asked for. The rest may be behind it."""
    within_a_text.relay.delivery.data(batch(WHOLE, plain=1000))
    loop.run(10 * TEXT_SECONDS)
    within_a_text.transport.writelines.assert_called_once_with([b"one"])
    within_a_text.relay.delivery.filled(NAME, 0, 1000, CHUNK)
    loop.run(2 * TEXT_SECONDS)
    assert within_a_text.transport.writelines.call_args == call([b"TargetAddress=10."])


def test_a_stream_that_ends_within_a_text_waits_for_no_rest(within_a_text: Connected, loop: Loop) -> None:
    within_a_text.relay.close(ResetCode.ORIGIN_RESET, "the array reset its connection")
    assert all(handle.cancelled for _, _, handle in loop.due)


def test_what_comes_for_a_stream_that_has_ended_is_not_kept(connected: Connected) -> None:
    connected.relay.close(ResetCode.ORIGIN_RESET, "the array reset its connection")
    connected.relay.delivery.data(batch(literal(b"one"), literals=b"one"))
    assert connected.relay.coders.decoder.idle


def test_headers_of_frames_count_for_the_packet_that_short_ones_fill(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a sixth of what a batch of known data takes: while they did not count, most packets were two."""
    data = noise(2 << 20, 5)
    with connection(known(data)) as made:
        streams, pump = made.owner.streams, made.owner.pump
        streams.sendable.return_value = 16 << 20
        pump.reset_mock()
        sent = streams.send_data.call_args_list
        for frames in (1, 2):
            assert not pump.called
            while len(sent) < frames:
                room = made.relay.get_buffer(0)
                room[:], data = data[: len(room)], data[len(room) :]
                made.read()
            (first, *_) = [len(args[1]) for args, _ in sent]
            monkeypatch.setattr("proxy.net.packing.PACKET", 2 * (first + HEADER_BYTES))
        assert pump.called
