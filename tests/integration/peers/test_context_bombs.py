"""Literals that continue a frame are no more trusted than frames of their own.

A bomb in the middle of a frame, a frame that ends, windows beyond the sum, a codec that was not agreed: each is
refused as a breach of the protocol, while west's memory does not move.
"""

from proxy.protocol.codes import Capability, CloseCode, FrameType
from proxy.protocol.reader import encode
from proxy.reduction.batch import CODEC_CONTEXT, assemble
from proxy.reduction.tokens import literal_token
from proxy.reduction.windows import WINDOWS_MAX
from tests.integration.bed.ends import Array, swallow
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import ScriptedLane, hello, open_
from tests.integration.peers.stage import hub, watch_memory

PLAIN = 128 << 10
FEW = 24 << 20
CAPABLE = frozenset(Capability)
WIDEST = bytes.fromhex("28b52ffd 00 78")
WIDER = bytes.fromhex("28b52ffd 00 79")
RLE_BLOCK = ((128 << 10) << 3 | 2).to_bytes(3, "little") + b"x"
ONE = bytes.fromhex("080000 61")
LAST = bytes.fromhex("090000 61")

BLOCKS = {
    "a bomb of 4 GiB": (RLE_BLOCK * 36_000, PLAIN),
    "one byte too many": (RLE_BLOCK, PLAIN - 1),
    "one byte too few": (RLE_BLOCK, PLAIN + 1),
    "a frame that ends": (LAST, 1),
    "a frame that ends, and another one": (LAST + WIDEST + ONE, 2),
    "a skippable frame": (ONE + b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip", 1),
    "half a block": (ONE[:-1], 1),
    "a window too large": (WIDER + ONE, 1),
    "nothing": (b"", 1),
}


def data(stream: int, number: int, literals: bytes, length: int) -> bytes:
    """A DATA frame whose batch is one literal of that length."""
    batch = assemble(length, CODEC_CONTEXT, literal_token(length), length, [literals])
    return encode(FrameType.DATA, stream, number, batch)


def refused(lane: ScriptedLane, word: str, what: str = "") -> None:
    code, reason = lane.close_of()
    assert code == CloseCode.PROTOCOL_ERROR, what
    assert word in reason, what


def test_bombs(bed: Bed) -> None:
    with Array(swallow) as array, hub(bed, array.address) as stage:
        growth = watch_memory(stage.west)
        for what, (literals, length) in BLOCKS.items():
            with stage.dial() as lane:
                lane.come_up(hello("rogue", "west", capabilities=CAPABLE))
                lane.send(open_(1), data(1, 1, WIDEST + ONE, 1), data(1, 2, literals, length))
                refused(lane, "zstd", what)
        assert growth() < FEW
        assert all(len(arrival.data) <= 1 for arrival in array.arrivals)


def test_windows_beyond_the_sum(bed: Bed) -> None:
    """As many streams as may have the widest window go on; one more ends the tunnel."""
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        growth = watch_memory(stage.west)
        lane.come_up(hello("rogue", "west", capabilities=CAPABLE))
        streams = [1 + 2 * n for n in range(1 + (WINDOWS_MAX >> 25))]
        for stream in streams:
            lane.send(open_(stream), data(stream, 1, WIDEST + ONE, 1))
        refused(lane, "zstd windows")
        assert growth() < FEW


def test_a_codec_that_was_not_agreed(bed: Bed) -> None:
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west", capabilities=CAPABLE - {Capability.CONTEXTS}))
        lane.send(open_(1), data(1, 1, WIDEST + ONE, 1))
        refused(lane, "codec 2, which was not agreed on")
