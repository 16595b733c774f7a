"""What needs a capability that was not agreed on ends the tunnel, and is named; agreed on, the same is right."""

import struct
from collections.abc import Callable

import pytest

from dedupstore.fingerprint import fingerprint
from proxy.iscsi.pdu import Opcode
from proxy.iscsi.prediction import Predictor
from proxy.protocol.codes import Capability, CloseCode, FrameType
from proxy.protocol.frames import encode_lanes, encode_store, encode_token, encode_waive
from proxy.protocol.reader import encode
from proxy.reduction.batch import CODEC_CONTEXT, CODEC_NONE, CODEC_ZSTD, Section, assemble
from proxy.reduction.compression import zstd
from proxy.reduction.contexts import ContextWriter
from proxy.reduction.tokens import learn_token, literal_token, reference_token, run_token
from proxy.reduction.windows import WINDOW_LOG_MIN
from tests.integration.bed.ends import Array, swallow
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import ScriptedLane, hello, open_
from tests.integration.peers.stage import hub
from tests.unit.iscsi.pdus import pdu

ALL = frozenset(Capability)
CHUNKS = [bytes((n,)) * 1000 for n in range(3)]
NAMES = [fingerprint(chunk) for chunk in CHUNKS]
LONG = b"It compresses. " * 100
LOGIN = pdu(Opcode.LOGIN_REQUEST | 0x40)


def literal(codec: int, coded: bytes) -> bytes:
    return encode(FrameType.DATA, 1, 1, assemble(len(LONG), codec, literal_token(len(LONG)), len(LONG), [coded]))


def filled() -> bytes:
    """A reference to what nobody has, and the answer, which comes as soon as it was asked for."""
    asked = encode(FrameType.DATA, 1, 1, assemble(1000, CODEC_NONE, reference_token(NAMES[0]), 0, []))
    answer = NAMES[0], bytes((CODEC_ZSTD,)), struct.pack(">I", 1000), zstd(1)(CHUNKS[0])
    return asked + encode(FrameType.FILL, 1, 2, *answer)


def run() -> bytes:
    """Chunks that are taught, then named at once."""
    taught = b"".join(literal_token(1000) + learn_token(1000, name) for name in NAMES)
    named = reference_token(NAMES[0]) + run_token(2, fingerprint(b"".join(NAMES[1:])))
    return encode(FrameType.DATA, 1, 1, assemble(3000, CODEC_NONE, taught, 3000, CHUNKS)) + encode(
        FrameType.DATA, 1, 2, assemble(3000, CODEC_NONE, named, 0, [])
    )


def records() -> bytes:
    record = b"\0" + LOGIN
    predicted = Predictor().predict(record)
    section = Section(len(record), CODEC_NONE, len(predicted), predicted)
    return encode(FrameType.DATA, 1, 1, assemble(0, CODEC_NONE, b"", 0, [], section))


CASES: dict[str, tuple[Capability, str, Callable[[], bytes]]] = {
    "codec 1": (Capability.ZSTD, "DATA on stream 1", lambda: literal(CODEC_ZSTD, zstd(1)(LONG))),
    "codec 1 of a fill": (Capability.ZSTD, "FILL on stream 1", filled),
    "codec 2": (
        Capability.CONTEXTS,
        "DATA on stream 1",
        lambda: literal(CODEC_CONTEXT, ContextWriter(1, WINDOW_LOG_MIN).encode(LONG)),
    ),
    "a run": (Capability.RUNS, "DATA on stream 1", run),
    "records": (Capability.SPANS, "DATA on stream 1", records),
    "records that may not be compressed": (Capability.ZSTD, "DATA on stream 1", records),
    "a waiver": (Capability.WAIVERS, "WAIVE 1 of stream 1", lambda: encode(FrameType.WAIVE, 1, 1, encode_waive(1))),
    "a wish for lanes": (Capability.LANES, "LANES", lambda: encode(FrameType.LANES, 0, 0, encode_lanes({0: 1}))),
    "a store's rate": (Capability.STORE_RATE, "STORE", lambda: encode(FrameType.STORE, 0, 0, encode_store(1))),
    "an address": (Capability.PORTALS, "OPEN of stream 3", lambda: open_(3, "array@127.0.0.1:1")),
}


def say(lane: ScriptedLane, capabilities: frozenset[Capability], frames: bytes) -> None:
    lane.come_up(hello("rogue", "west", capabilities=capabilities))
    lane.send(open_(1))
    lane.expect(FrameType.ACCEPT)
    first, rest = frames[: (end := 16 + int.from_bytes(frames[1:4]))], frames[end:]
    lane.send(first)
    if rest and rest[0] == FrameType.FILL:
        lane.expect(FrameType.MISS)
    lane.send(rest)


@pytest.mark.parametrize("case", CASES)
def test_what_was_not_agreed_on_is_refused(bed: Bed, case: str) -> None:
    needed, named, frames = CASES[case]
    with Array(swallow) as array, hub(bed, array.address) as stage:
        with stage.dial() as lane:
            say(lane, ALL, frames())
            lane.send(encode(FrameType.PING, 0, 0, encode_token(1)))
            while (frame := lane.receive()).type != FrameType.PONG:
                assert frame.type != FrameType.CLOSE
        with stage.dial() as lane:
            say(lane, ALL - {needed}, frames())
            code, reason = lane.close_of()
    assert code == CloseCode.PROTOCOL_ERROR
    assert reason.startswith(named)
    assert "not agreed on" in reason
