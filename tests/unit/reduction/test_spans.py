"""Streams of iSCSI in two sequences: what arrives, what it costs, and which streams have none."""

import random

import pytest

from dedupstore.chunker import Chunker
from proxy.iscsi.pdu import Sender
from proxy.reduction.batch import BATCH_PLAIN_MAX, NO_SECTION, RECORDS_MAX, dissect
from proxy.reduction.span_decoder import SpanDecoder
from proxy.reduction.span_encoder import LOOK_BYTES, SpanEncoder
from tests.unit.iscsi.pdus import (
    INQUIRY,
    command,
    data_in,
    data_out,
    digests,
    login,
    login_answer,
    pdu,
    read_10,
    response,
    write_10,
)
from tests.unit.reduction.sites import Stream, noise, two_sites
from tests.unit.reduction.span_sites import Direction, Talk, plain_talk

KIB = 1 << 10
VOLUME = noise(1 << 20, 9)


def writes(order: list[int], size: int, most: int, **digests: bool) -> bytes:
    """Commands of `size` bytes in that order, each with its data in PDUs of `most` bytes."""
    out = []
    for tag, at in enumerate(order):
        data = VOLUME[at : at + size]
        out.append(command(tag, write_10(at // 512, size // 512), header_digest=digests.get("header_digest", False)))
        out += [data_out(tag, data[n : n + most], n, **digests) for n in range(0, size, most)]
    return b"".join(out)


def in_order(size: int) -> list[int]:
    return list(range(0, len(VOLUME), size))


def shuffled(size: int) -> list[int]:
    order = in_order(size)
    random.Random(3).shuffle(order)
    return order


def sections(direction: Direction) -> list[bool]:
    """Which batches have one."""
    return [dissect(memoryview(batch.data)).section is not NO_SECTION for batch in direction.batches]


@pytest.mark.parametrize("header_digest", [False, True])
@pytest.mark.parametrize("data_digest", [False, True])
def test_a_volume_is_written_and_read(header_digest: bool, data_digest: bool) -> None:
    agreed = {"header_digest": header_digest, "data_digest": data_digest}
    talk = Talk(*two_sites())
    talk.log_in(**agreed)
    talk.out.say(writes(in_order(64 * KIB), 64 * KIB, 8 * KIB, **agreed), LOOK_BYTES)
    talk.back.say(b"".join(response(tag, header_digest=header_digest) for tag in range(16)))
    talk.out.say(command(99, read_10(8, 16), header_digest=header_digest))
    talk.back.say(data_in(99, VOLUME[4096 : 4096 + 8192], status=True, **agreed))
    talk.end()
    assert talk.fell == []
    assert talk.back.literal < 4000  # what was written is read by reference, as far as chunks are whole


def test_digests_are_computed_on_the_far_side_and_not_sent() -> None:
    volume = writes(in_order(64 * KIB), 64 * KIB, 8 * KIB, header_digest=True, data_digest=True)
    bare = writes(in_order(64 * KIB), 64 * KIB, 8 * KIB)
    wires = []
    for digest, content in ((True, volume), (False, bare)):
        talk = Talk(*two_sites())
        talk.log_in(digest, digest)
        talk.out.say(content, LOOK_BYTES)
        wires.append(talk.out.wire)
        assert isinstance(talk.out.decoder, SpanDecoder)
        assert talk.out.decoder.weaver.digests == (16 * 9 + 16 * 8 if digest else 0)
    assert wires[0] - wires[1] < 500  # a byte of tail a PDU, compressed


@pytest.mark.parametrize("most", [512, 8 * KIB, 64 * KIB])
@pytest.mark.parametrize("order", [in_order, shuffled])
def test_a_second_pass_finds_everything(most: int, order: object) -> None:
    """In other PDUs, other commands and another order."""
    assert callable(order)
    near, far = two_sites()
    chunker = Chunker()
    first, second = Talk(near, far, chunker), Talk(near, far, chunker)
    for talk, content in (
        (first, writes(in_order(256 * KIB), 256 * KIB, 64 * KIB)),
        (second, writes(order(64 * KIB), 64 * KIB, most)),
    ):
        talk.log_in()
        before = talk.out.literal
        talk.out.say(content, LOOK_BYTES)
        literal = talk.out.literal - before
    assert literal < len(content) - len(VOLUME) + 1000
    assert second.out.wire < len(VOLUME) // 100


def test_small_commands_do_not_fill_the_store() -> None:
    """A container's directory has room for chunks of some KiB; these are of half a KiB each, and in no order."""
    near, far = two_sites()
    talk = Talk(near, far, Chunker())
    talk.log_in()
    talk.out.say(writes(shuffled(512), 512, 512), LOOK_BYTES)
    assert len(VOLUME) / len(near.store.names) > 3 * KIB
    talk.end()


def test_small_commands_between_long_ones_spoil_nothing() -> None:
    """What a file system writes beside what it copies: new each time, and never in the same place."""
    near, far = two_sites()
    for number, order in enumerate((in_order(64 * KIB), shuffled(64 * KIB))):
        talk = Talk(near, far, Chunker())
        talk.log_in()
        before = talk.out.literal
        for tag, at in enumerate(order):
            small = noise(512, (number + 1) * 1000 + tag)
            talk.out.write(command(tag, write_10(1 << 20, 1)) + data_out(tag, small))
            data = VOLUME[at : at + 64 * KIB]
            talk.out.write(command(1000 + tag, write_10(at // 512, 128)) + data_out(1000 + tag, data))
        talk.out.pause()
        literal = talk.out.literal - before
        talk.end()
    assert literal < 64 * KIB


@pytest.mark.parametrize("burst", [24 * KIB, 40 * KIB])
def test_commands_that_take_turns_go_on_where_they_broke_off(burst: int) -> None:
    """Data of four at once in bursts that end nowhere in particular, as a target asks for it."""
    size = 256 * KIB
    bursts = [(at, n) for n in range(0, size, burst) for at in in_order(size)]
    second = b"".join(command(at // size, write_10(at // 512, size // 512)) for at in in_order(size)) + b"".join(
        data_out(at // size, VOLUME[at + n : at + min(n + burst, size)], n) for at, n in bursts
    )
    assert literal_of_the_last(writes(in_order(size), size, 64 * KIB), second) < len(VOLUME) // 4


def test_immediate_data_of_many_commands_is_found_by_how_it_begins() -> None:
    """8 KiB with each command, all commands before the rest of any: nothing announces the beginnings."""
    size, immediate = 64 * KIB, 8 * KIB
    order = shuffled(size)
    second = b"".join(
        command(at // size, write_10(at // 512, size // 512)) + data_out(at // size, VOLUME[at : at + immediate])
        for at in order
    ) + b"".join(data_out(at // size, VOLUME[at + immediate : at + size], immediate) for at in order)
    first = writes(in_order(512 * KIB), 512 * KIB, 64 * KIB)
    assert literal_of_the_last(first, second) < len(VOLUME) // 20


def literal_of_the_last(*contents: bytes) -> int:
    """Bytes that crossed as they are, of the last of these connections."""
    near, far = two_sites()
    for content in contents:
        talk = Talk(near, far, Chunker())
        talk.log_in()
        before = talk.out.literal
        talk.out.say(content, LOOK_BYTES)
        literal = talk.out.literal - before
        talk.end()
    return literal


def test_pauses_within_pieces_of_chunks_cost_nothing() -> None:
    """A burst that begins in the middle of a chunk and pauses behind its end: the next chunk is expected there."""
    near, far = two_sites()
    size, immediate = 64 * KIB, 8 * KIB
    for pauses in (False, True):
        talk = Talk(near, far, Chunker())
        talk.log_in()
        before = talk.out.literal
        order = shuffled(size) if pauses else in_order(size)
        for at in order:
            talk.out.write(command(at // size, write_10(at // 512, size // 512)))
            talk.out.write(data_out(at // size, VOLUME[at : at + immediate]))
        for at in order:
            for n in range(immediate, size, immediate):
                talk.out.write(data_out(at // size, VOLUME[at + n : at + n + immediate], n))
                if pauses:
                    talk.out.pause()
        talk.out.pause()
        literal = talk.out.literal - before
        talk.end()
    assert literal < len(VOLUME) // 20


def test_a_pause_behind_many_tiny_chunks_stays_a_legal_batch() -> None:
    """Each of them came as a connection of its own; a batch has no room for a slice of each."""
    near, far = two_sites()
    tiny = [noise(80, 500 + n) for n in range(45)]
    for content in (VOLUME[: 20 * KIB], *tiny):
        stream = Stream(near, far, chunker=Chunker())
        stream.write(content)
        stream.pause()
        stream.end()
    talk = Talk(near, far, Chunker())
    talk.log_in()
    rest = b"".join(tiny) + bytes(496)
    talk.out.say(command(1, write_10(0, 20 * 2 + len(rest) // 512)) + data_out(1, VOLUME[: 20 * KIB]))
    talk.out.say(data_out(1, rest, 20 * KIB))
    talk.end()


def test_what_broke_off_may_have_left_the_store() -> None:
    """Then it goes as if nobody had remembered it; and of more commands than are remembered each arrives."""
    near, far = two_sites()
    volume = range(0, 2 << 20, 8 * KIB)
    for lost in (False, True):
        talk = Talk(near, far, Chunker())
        talk.log_in()
        talk.out.say(b"".join(half(at, 0) for at in volume), LOOK_BYTES)
        for name in near.store.names if lost else []:
            near.store.lose(name)
        talk.out.say(b"".join(half(at, 4 * KIB) for at in volume), LOOK_BYTES)
        talk.end()


def half(at: int, offset: int) -> bytes:
    """Of a write of 8 KiB, that of its data."""
    data = data_out(at, noise(4 * KIB, at + offset), offset)
    return data if offset else command(at, write_10(at // 512, 16)) + data


def test_files_that_moved_are_found_between_forced_borders() -> None:
    """By pages, in one order: each window cuts them elsewhere, and what is stored goes on like them."""
    near, far = two_sites()
    chunker = Chunker()
    for moved in (0, 5 * 4096):
        talk = Talk(near, far, chunker)
        talk.log_in()
        content = writes(in_order(64 * KIB), 64 * KIB, 64 * KIB)
        if moved:
            shift = bytes(moved) + VOLUME
            content = b"".join(
                command(tag, write_10(at // 512, 128)) + data_out(tag, shift[at : at + 64 * KIB])
                for tag, at in enumerate(range(0, len(VOLUME), 64 * KIB))
            )
        before = talk.out.literal
        talk.out.say(content, LOOK_BYTES)
        literal = talk.out.literal - before
    assert literal < len(VOLUME) // 5


@pytest.mark.parametrize(
    "unit",
    [pdu(0x40), pdu(0x40, data=bytes(1)), pdu(0x40, data=noise(16 * KIB)), pdu(0x41, additional=bytes(1020))],
    ids=["bare", "short", "long", "additional"],
)
def test_a_section_is_as_long_as_a_receiver_takes_it(unit: bytes) -> None:
    """Whatever the records are of, and wherever reads end."""
    talk = Talk(*two_sites())
    talk.log_in()
    lead = command(1, write_10(0, 8)) + data_out(1, noise(3000))
    talk.out.say(lead + unit * (6 * RECORDS_MAX // len(unit)), LOOK_BYTES)
    longest = max(dissect(memoryview(batch.data)).section.records for batch in talk.out.batches)
    assert LOOK_BYTES // 2 < longest <= RECORDS_MAX
    talk.end()


def test_what_is_known_goes_in_long_batches() -> None:
    """Of six windows each, as a stream of plain bytes has them."""
    near, far = two_sites()
    chunker = Chunker()
    for _ in range(2):
        talk = Talk(near, far, chunker)
        talk.log_in()
        before = len(talk.out.batches)
        talk.out.say(writes(in_order(1 << 20), 1 << 20, 64 * KIB), LOOK_BYTES)
    assert len(talk.out.batches) - before == 3
    talk.end()


def test_batches_are_legal_however_long_chunks_are() -> None:
    """Nothing has an address, content makes no border, and PDUs are short or long."""
    talk = Talk(*two_sites(), Chunker(64 * KIB, 128 * KIB, 256 * KIB))
    talk.log_in()
    for size in (512, 64 * KIB):
        talk.out.say(data_out(9, bytes(size)) * ((3 << 20) // size), LOOK_BYTES)
    longest = max(dissect(memoryview(batch.data)).plain for batch in talk.out.batches)
    assert 256 * KIB <= longest <= BATCH_PLAIN_MAX
    talk.end()


def test_what_follows_a_source_that_stopped_within_a_digest_is_cut_by_content_alone() -> None:
    """No window ends any more, however near one was, and there is always room to read into."""
    talk = Talk(*two_sites(), Chunker(4 * KIB, 256 * KIB, 256 * KIB))
    talk.log_in(data_digest=True)
    talk.out.say(command(1, write_10(0, 512)) + data_out(1, VOLUME[: 63 * KIB], data_digest=True)[:-2])
    talk.out.give_up()
    rest = noise(1 << 20)
    for at in range(0, len(rest), LOOK_BYTES):
        talk.out.write(rest[at : at + LOOK_BYTES])
        assert len(talk.out.encoder.buffer(1 << 20)) > 0
    talk.end()


def test_on_a_slow_line_records_go_in_short_batches() -> None:
    """As literals do, so that no frame keeps the line busy for long; payload is still announced before it comes."""
    grain, ping = 4 * KIB, pdu(0x40, data=noise(1000))
    talk = Talk(*two_sites())
    talk.log_in()
    talk.out.encoder.grain = grain
    before = len(talk.out.batches)
    talk.out.write(5 * ping)
    assert talk.out.encoder.pending == (0, 0)  # they were taken at once
    talk.out.say(writes([0, 8 * KIB], 8 * KIB, 512) + 40 * ping, LOOK_BYTES)
    assert max(batch.plain for batch in talk.out.batches[before:]) <= 2 * grain + 34 * 49 + len(ping)
    assert len(talk.out.batches) - before <= 2 + (45 * (len(ping) + 1) + 16 * KIB + 34 * 49) // grain
    talk.end()


# -- who has spans ---------------------------------------------------------------------------------------------


def test_what_is_not_iscsi_is_sent_as_if_nobody_had_looked() -> None:
    """To the byte, whatever it begins with, however it comes."""
    content = VOLUME[: 300 * KIB]
    for start in (b"", b"\x43", login()[:30], b"SSH-2.0-"):
        for size in (1 << 20, 10_007, 40):
            talk, plain = Talk(*two_sites()), Stream(*two_sites())
            pieces = [start or content[:40], *(content[at : at + size] for at in range(40, 20_000, size)), content]
            for piece in pieces:
                for stream in (talk.out, plain):
                    stream.write(piece)
                    stream.pause()
                assert talk.out.queue == plain.queue
            talk.end()


def test_a_server_that_speaks_first_has_no_spans() -> None:
    talk = Talk(*two_sites())
    talk.back.say(login_answer())
    talk.out.say(login())
    talk.back.say(login_answer())
    talk.end()
    assert not any(sections(talk.back) + sections(talk.out))


def test_the_acceptor_does_as_the_opener() -> None:
    near, far = two_sites()
    talk = Talk(near, far, opener=False)
    talk.out.say(login())
    talk.back.say(login_answer())
    talk.end()
    assert not any(sections(talk.out) + sections(talk.back))


def test_peers_that_know_nothing_of_spans() -> None:
    talk = plain_talk(*two_sites())
    talk.log_in()
    talk.end()
    assert not any(sections(talk.out) + sections(talk.back))


def test_a_login_that_turns_out_to_be_something_else() -> None:
    """It goes on as it is, and whoever counts is told why."""
    talk = Talk(*two_sites())
    talk.log_in()
    talk.out.say(noise(100_000))
    assert [recognised for _, recognised in talk.fell] == [True]
    talk.out.say(VOLUME)
    assert sections(talk.out)[-1] is False
    talk.end()


def test_a_direction_falls_back_while_payload_waits_to_be_searched() -> None:
    """No border in it may be found after what follows it was delivered."""
    talk = Talk(*two_sites())
    talk.log_in(header_digest=True)
    talk.out.say(writes([0], 64 * KIB, 64 * KIB, header_digest=True))
    broken = bytearray(data_out(1, VOLUME[:3000], header_digest=True))
    broken[20] ^= 1
    talk.out.say(bytes(broken))
    assert [recognised for _, recognised in talk.fell] == [True]
    talk.out.say(VOLUME[3000:9000])
    talk.end()


# -- delivery --------------------------------------------------------------------------------------------------


def test_a_pause_sends_all_that_is_whole() -> None:
    """Of a PDU with payload all that has come; of a header nothing until it is whole."""
    talk = Talk(*two_sites())
    talk.log_in(header_digest=True, data_digest=True)
    content = writes([0], 64 * KIB, 8 * KIB, header_digest=True, data_digest=True)
    before = len(talk.out.received)
    encoder = talk.out.encoder
    assert isinstance(encoder, SpanEncoder)
    for at in range(0, len(content), 1001):
        talk.out.say(content[at : at + 1001])
        assert len(talk.out.received) == len(talk.out.sent) - encoder.framer.held
        assert encoder.framer.held < 60
    assert talk.out.received[before:] == content


def test_pings_and_their_data_go_at_once() -> None:
    talk = Talk(*two_sites())
    talk.log_in()
    ping = pdu(0x40, tag=1, data=b"are you there?")
    talk.out.say(ping)
    assert talk.out.received.endswith(ping)
    talk.back.say(pdu(0x20, tag=1, data=b"are you there?"))
    talk.end()


def test_a_connection_that_ends_in_the_middle() -> None:
    whole = login() + writes([0], 64 * KIB, 8 * KIB)
    for end in (10, 47, 48, 60, 100, 110, 5000, len(whole) - 1):
        talk = Talk(*two_sites())
        talk.out.write(whole[:end])
        talk.end()


# -- what it costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"x", bytes(511), bytes(9000)])
@pytest.mark.parametrize("padding", [None, b"\1\2\3"])
def test_no_more_is_read_than_credit_allows(data: bytes, padding: bytes | None) -> None:
    """Reads of all that is affordable cost no more than that, batches included."""
    talk = Talk(*two_sites())
    talk.log_in(data_digest=True)
    before, batches = talk.out.cost, len(talk.out.batches)
    credit = 1 << 20
    one = data_out(1, data, data_digest=True, padding=padding, flip=1)
    affordable = talk.out.encoder.affordable(credit)
    assert affordable > credit * 9 // 10
    content = (one * (affordable // len(one) + 1))[:affordable]
    for at in range(0, len(content), LOOK_BYTES):
        talk.out.write(content[at : at + LOOK_BYTES])
    talk.out.pause()
    talk.out.settle()
    taken = len(talk.out.batches) - batches
    assert talk.out.cost - before + 256 * max(0, taken - 2 - credit // (256 * KIB)) <= credit
    assert all(batch.plain <= 512 * KIB for batch in talk.out.batches)


def test_a_header_costs_a_byte_or_two_in_steady_traffic() -> None:
    talk = Talk(*two_sites())
    talk.log_in()
    encoder = talk.out.encoder
    assert isinstance(encoder, SpanEncoder)
    talk.out.say(writes(in_order(4 * KIB), 4 * KIB, 4 * KIB), LOOK_BYTES)
    before = encoder.records_coded
    talk.out.say(writes(shuffled(4 * KIB), 4 * KIB, 4 * KIB), LOOK_BYTES)
    assert (encoder.records_coded - before) / (2 * len(in_order(4 * KIB))) < 6


def test_what_a_record_says_of_no_volume_is_compressed() -> None:
    talk = Talk(*two_sites())
    talk.log_in()
    talk.out.say(command(1, INQUIRY))
    before = talk.back.wire
    talk.back.say(data_in(1, b"ISTHMUS  " * 400, status=True))
    assert talk.back.wire - before < 200


def test_names_in_logins_are_followed_on_both_sites() -> None:
    talk = Talk(*two_sites())
    talk.out.say(login(b"InitiatorName=iqn.east\0TargetName=iqn.west\0" + digests(True, False)))
    talk.back.say(login_answer(digests(True, False)))
    for connection in (talk.near, talk.far):
        assert connection.target == "iqn.west"
        assert connection.header_digest
        assert not connection.data_digest
    assert talk.direction(Sender.TARGET) is talk.back


def test_an_end_within_a_header_is_no_fall_back() -> None:
    """All of it arrives, and nobody is warned."""
    talk = Talk(*two_sites())
    talk.log_in()
    talk.out.say(command(1, INQUIRY)[:20])
    talk.end()
    assert talk.fell == []
