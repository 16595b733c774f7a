"""A peer that asks for more than anybody could want is held to its share of time, memory, descriptors and log.

Every flood here is legal frame by frame, or ends by the rule that it breaks; east replicates through west meanwhile.
"""

import contextlib
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dedupstore.fingerprint import fingerprint
from proxy.net.misses import AT_ONCE
from proxy.protocol.codes import Capability, CloseCode, FrameType, ResetCode
from proxy.protocol.frames import (
    LANES_MAX,
    OVER,
    decode_miss,
    encode_ack,
    encode_lanes,
    encode_reset,
    encode_store,
    encode_token,
)
from proxy.protocol.reader import CHUNK_MAX, encode
from proxy.reduction.ahead import ALL_MAX
from proxy.reduction.batch import CODEC_NONE, assemble
from proxy.reduction.tokens import learn_token, literal_token, reference_token, slice_token
from tests.integration.bed.ends import Array, full_backlog
from tests.integration.bed.sites import Bed, descriptors
from tests.integration.peers.scripted import Ended, ScriptedLane, hello, open_
from tests.integration.peers.stage import Hub, hub, peer_of, says, watch_memory

OPENINGS = 20_000
ROUND = 500
STREAMS = 64
MUCH = 32 << 20
LOG_MAX = 256 << 10
NOISE = random.Random(0).randbytes(CHUNK_MAX)
PAYLOADS = {
    FrameType.LANES: (encode_lanes({0: 1}), encode_lanes({0: 2})),
    FrameType.STORE: tuple(map(encode_store, (0, 1, (1 << 64) - 1))),
}
"""Each frame says something else than the one before. Others have none."""


def log_bytes(stage: Hub) -> int:
    return stage.west.log.stat().st_size


def rounds() -> list[range]:
    """The numbers of all streams that rogue opens, a round at a time."""
    last = 2 * OPENINGS
    return [range(first, first + 2 * ROUND, 2) for first in range(1, last, 2 * ROUND)]


def test_openings_of_what_is_not_exported(bed: Bed) -> None:
    """Each is refused, and forgotten as soon as the peer acknowledges that."""
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        growth = watch_memory(stage.west)
        lane.come_up(hello("rogue", "west"))
        for numbers in rounds():
            lane.send(*(open_(number, "nothing") for number in numbers))
            for number in numbers:
                assert lane.reset_of(number)[0] == ResetCode.NOT_EXPORTED
            lane.send(encode(FrameType.ACK, 0, 0, encode_ack((number, OVER) for number in numbers)))
        assert peer_of(stage.west, "rogue")["streams"] == 0
        assert growth() < MUCH
        assert log_bytes(stage) < LOG_MAX
        assert not array.arrivals
        stage.still_works(array)


def test_openings_whose_refusals_are_not_acknowledged(bed: Bed) -> None:
    """What waits for acknowledgement is bounded; beyond it the peer breaks the protocol."""
    with Array() as array, hub(bed, array.address, streams=STREAMS) as stage, stage.dial() as lane:
        growth = watch_memory(stage.west)
        lane.come_up(hello("rogue", "west"))
        lane.send(*(open_(number) for numbers in rounds() for number in numbers))
        code, reason = lane.close_of()
        assert (code, "OPEN" in reason) == (CloseCode.PROTOCOL_ERROR, True), reason
        assert len(array.arrivals) <= STREAMS
        assert growth() < MUCH + STREAMS * (1 << 20)
        stage.still_works(array)


def test_openings_beyond_the_cap(bed: Bed) -> None:
    """As many streams as are allowed live; each further one is refused with the reason, and those go on."""
    with Array() as array, hub(bed, array.address, streams=STREAMS) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(*(open_(number) for number in range(1, 2 * STREAMS + 20, 2)))
        for number in range(2 * STREAMS + 1, 2 * STREAMS + 20, 2):
            code, reason = lane.reset_of(number)
            assert (code, str(STREAMS) in reason) == (ResetCode.TOO_MANY_STREAMS, True)
        array.arrival(STREAMS - 1)
        assert peer_of(stage.west, "rogue")["streams"] == STREAMS
        stage.still_works(array)


def test_streams_that_are_reset_at_once(bed: Bed) -> None:
    """Opened and given up, with another reason each time: no connection attempt, no count of reasons is left behind."""
    with contextlib.ExitStack() as stack:
        never = stack.enter_context(full_backlog())
        array = stack.enter_context(Array())
        stage = stack.enter_context(hub(bed, array.address, other=never, connect_timeout="1m"))
        lane = stack.enter_context(stage.dial())
        growth, before = watch_memory(stage.west), descriptors(stage.west)
        lane.come_up(hello("rogue", "west"))
        for numbers in rounds():
            lane.send(*(open_(number, "other") + give_up(number) for number in numbers))
            lane.send(encode(FrameType.PING, 0, 0, encode_token(numbers.start)))
            lane.expect(FrameType.PONG)
        assert growth() < MUCH
        assert descriptors(stage.west) < before + 20
        assert log_bytes(stage) < LOG_MAX
        rogue = peer_of(stage.west, "rogue")
        assert sum(rogue["ended_streams"].values()) == OPENINGS
        assert len(rogue["ended_streams"]) < 100
        stage.still_works(array)


def test_what_is_filled_in_part(bed: Bed) -> None:
    """Each batch lacks four megabytes and is never filled whole: a few streams ask, and the others wait their turn."""
    chunks = [random.Random(seed).randbytes(CHUNK_MAX) for seed in range(15)]
    streams = range(1, 2 * STREAMS, 2)
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(*(open_(number) for number in streams))
        array.arrival(STREAMS - 1)
        growth = watch_memory(stage.west)
        lane.send(*(lacking(number, [*chunks, b"never filled"]) for number in streams))
        asking = missing(lane)
        assert len(asking) == AT_ONCE
        for number in asking:
            lane.send(*(fill(number, 2 + nth, chunk) for nth, chunk in enumerate(chunks)))
        assert missing(lane) == []
        assert growth() < AT_ONCE * len(chunks) * CHUNK_MAX + MUCH
        lane.send(fill(asking[0], 2 + len(chunks), b"never filled"))
        following = lane.expect(FrameType.MISS).stream
        waiting = next(number for number in streams if number not in (*asking, following))
        lane.send(fill(waiting, 2, chunks[0]))
        code, reason = lane.close_of()
        assert (code, "has not asked" in reason) == (CloseCode.PROTOCOL_ERROR, True), reason
        stage.still_works(array)


def test_what_is_filled_for_batches_to_come(bed: Bed) -> None:
    """Each stream is filled its first batch and four megabytes for those behind; then it has to wait for its turn."""
    streams = range(1, 80, 2)
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(*(open_(number) for number in streams))
        array.arrival(len(streams) - 1)
        growth = watch_memory(stage.west)
        for number in streams:
            lane.send(*(encode(FrameType.DATA, number, 1 + nth, data) for nth, data in enumerate(one_by_one(number))))
        filled = Counter[int]()
        while len(filled) < len(streams) or min(filled.values()) < 2:
            frame = lane.expect(FrameType.MISS)
            asked = decode_miss(frame.payload)
            found = [chunk for chunk in of_stream(frame.stream) if fingerprint(chunk) in asked]
            for chunk in found:
                filled[frame.stream] += 1
                lane.send(fill(frame.stream, len(one_by_one(frame.stream)) + filled[frame.stream], chunk))
        missing(lane)
        assert growth() < ALL_MAX + MUCH
        stage.still_works(array)


def of_stream(number: int) -> list[bytes]:
    """What batches of `one_by_one` lack."""
    names = [f"{number} {nth} ".encode() for nth in range(18)]
    return [name + NOISE[len(name) : CHUNK_MAX if nth > 1 else 100] for nth, name in enumerate(names)]


def one_by_one(number: int) -> list[bytes]:
    """Batches of a chunk each. The first one has to ask before others have come; the second one asks for these as well.

    What the third one names looks as if the second one taught it, so it is asked for in its turn only, and not filled.
    """
    first, second, *others = map(fingerprint, of_stream(number))
    taught = fingerprint(b"z")
    tokens = reference_token(second) + literal_token(1) + learn_token(1, taught)
    return [
        assemble(100, CODEC_NONE, reference_token(first), 0, []),
        assemble(101, CODEC_NONE, tokens, 1, [b"z"]),
        assemble(100, CODEC_NONE, reference_token(taught[:8] + bytes(24)), 0, []),
        *(assemble(1, CODEC_NONE, slice_token(name, 0, 1), 0, []) for name in others),
    ]


def lacking(number: int, chunks: list[bytes]) -> bytes:
    """A batch of a byte of each, and what it takes to be allowed so many tokens."""
    padding = bytes(300 * len(chunks))
    tokens = b"".join(slice_token(fingerprint(chunk), 0, 1) for chunk in chunks) + literal_token(len(padding))
    return encode(
        FrameType.DATA, number, 1, assemble(len(chunks) + len(padding), CODEC_NONE, tokens, len(padding), [padding])
    )


def fill(number: int, sequence: int, chunk: bytes) -> bytes:
    return encode(FrameType.FILL, number, sequence, fingerprint(chunk), b"\x00", struct.pack(">I", len(chunk)), chunk)


def missing(lane: ScriptedLane) -> list[int]:
    """The streams on which the site asks. Twice, since PONG overtakes what answers the frames before its PING."""
    asking = []
    for token in range(2):
        lane.send(encode(FrameType.PING, 0, 0, encode_token(token)))
        while (frame := lane.receive()).type != FrameType.PONG:
            if frame.type == FrameType.MISS:
                asking.append(frame.stream)
    return asking


def give_up(number: int) -> bytes:
    """RESET right behind OPEN."""
    return encode(FrameType.RESET, number, 1, encode_reset(ResetCode.ORIGIN_RESET, f"reason {number}" + "x" * 400))


@pytest.mark.parametrize("kind", [FrameType.ACK, FrameType.CREDIT, FrameType.DRAIN, *PAYLOADS])
def test_small_frames_without_end(bed: Bed, kind: FrameType) -> None:
    """Each costs far more time than bytes. The status answers meanwhile, and another peer's replication goes on."""
    capabilities = frozenset({Capability.SLICES, Capability.LANES, Capability.STORE_RATE})
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west", capabilities=capabilities))
        with flood(lane, kind):
            for _ in range(3):
                stage.west.status()
                stage.still_works(array)
        assert peer_of(stage.west, "east")["state"] == "up"


@contextlib.contextmanager
def flood(lane: ScriptedLane, kind: FrameType) -> Iterator[None]:
    """All the while as many as the site takes."""
    payloads = PAYLOADS.get(kind, (b"",))
    frames = b"".join(encode(kind, 0, 0, payloads[n % len(payloads)]) for n in range(500))
    end = threading.Event()

    def send() -> None:
        while not end.is_set():
            lane.send(frames)

    def take() -> None:
        with contextlib.suppress(Ended):
            while True:
                lane.receive()

    threads = [threading.Thread(target=send, daemon=True), threading.Thread(target=take, daemon=True)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        threads[0].join()
        lane.connection.shutdown(socket.SHUT_RDWR)
        threads[1].join()


def test_lanes_beyond_the_cap(bed: Bed) -> None:
    """Of one tunnel so many lanes come up; a further one is told that it is not wanted, and the tunnel goes on."""
    with Array() as array, hub(bed, array.address, keepalive="1h", dead_after="2h") as stage:
        first = stage.dial()
        lanes = [first]
        with first:
            mine = hello("rogue", "west")
            said = first.come_up(mine)
            answer_ping(first)
            for _ in range(LANES_MAX - 1):
                lane = stage.dial()
                lanes.append(lane)
                lane.come_up(replace(mine, known_half=said.half))
                answer_ping(lane)
            with stage.dial() as surplus:
                surplus.greet(replace(mine, known_half=said.half))
                assert surplus.close_of()[0] == CloseCode.SURPLUS
            with stage.dial() as forgetful:  # it need not say which half of ours it knows to join what there is
                forgetful.greet(mine)
                assert forgetful.close_of()[0] == CloseCode.SURPLUS
            says(stage.west, "rogue", "lanes are up already")
            check_alive(first)
            assert len(peer_of(stage.west, "rogue")["lanes"]) == LANES_MAX
        for lane in lanes:
            lane.connection.close()
        stage.still_works(array)


def answer_ping(lane: ScriptedLane) -> None:
    """The first one comes at once; who leaves it unanswered for seconds has to make room for others."""
    lane.send(encode(FrameType.PONG, 0, 0, lane.expect(FrameType.PING).payload))


def check_alive(lane: ScriptedLane) -> None:
    lane.send(encode(FrameType.PING, 0, 0, encode_token(7)))
    lane.expect(FrameType.PONG)
