"""Compressed literals and fills are never trusted about what they unfold to.

Half a gibibyte in fifty kilobytes, sizes that are absent or forged, a second frame behind the first, windows of a
gibibyte, dictionaries: each is refused as a breach of the protocol, while west's memory does not move.
"""

import struct
from functools import cache

import pytest
import zstandard

from dedupstore.fingerprint import fingerprint
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.frames import decode_miss
from proxy.protocol.reader import encode
from proxy.reduction.batch import CODEC_ZSTD, assemble
from proxy.reduction.tokens import literal_token, reference_token
from tests.integration.bed.ends import Array, swallow
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import hello, open_
from tests.integration.peers.stage import hub, watch_memory

PLAIN = 128 << 10
UNFOLDED = 512 << 20
FEW = 24 << 20


def compress(size: int, *, sized: bool = True) -> bytes:
    """That many zeros."""
    return zstandard.ZstdCompressor(level=1, write_content_size=sized).compress(bytes(size))


def forge(frame: bytes, size: int) -> bytes:
    """The frame with another content size, in a field of four bytes (RFC 8878, section 3.1.1.1)."""
    descriptor = frame[4]
    assert descriptor >> 6 == 2, "the field has four bytes"
    at = 5 + (0 if descriptor & 0x20 else 1)
    return frame[:at] + struct.pack("<I", size) + frame[at + 4 :]


def window(log: int) -> bytes:
    """A frame that asks for a window of 2^log bytes and holds one raw block of four."""
    return b"\x28\xb5\x2f\xfd" + bytes((0x80, (log - 10) << 3)) + struct.pack("<I", PLAIN) + b"\x21\x00\x00four"


@cache
def frames() -> dict[str, bytes]:
    """By what is wrong with them."""
    bomb = compress(UNFOLDED)
    return {
        "a bomb that says so": bomb,
        "a bomb that denies it": forge(bomb, PLAIN),
        "a bomb that does not say": compress(UNFOLDED, sized=False),
        "no size": compress(PLAIN, sized=False),
        "too large a size": forge(compress(PLAIN), PLAIN + 1),
        "too small a content": forge(compress(PLAIN - 1), PLAIN),
        "a second frame": compress(PLAIN) + compress(1),
        "a skippable frame behind": compress(PLAIN) + b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip",
        "a byte behind": compress(PLAIN) + b"\x00",
        "a window of a gibibyte": window(30),
        "a dictionary": b"\x28\xb5\x2f\xfd\x81\x00\x07" + struct.pack("<I", PLAIN) + b"\x21\x00\x00four",
        "half a frame": compress(PLAIN)[:-4],
        "no frame": b"not compressed at all",
        "nothing": b"",
    }


@pytest.mark.parametrize("in_fill", [False, True], ids=["literals", "fill"])
def test_bombs(bed: Bed, in_fill: bool) -> None:
    chunk = fingerprint(bytes(PLAIN))
    with Array(swallow) as array, hub(bed, array.address) as stage:
        growth = watch_memory(stage.west)
        for what, frame in frames().items():
            with stage.dial() as lane:
                lane.come_up(hello("rogue", "west"))
                lane.send(open_(1))
                if in_fill:
                    lane.send(encode(FrameType.DATA, 1, 1, assemble(PLAIN, 0, reference_token(chunk), 0, [b""])))
                    assert decode_miss(lane.expect(FrameType.MISS).payload) == (chunk,)
                    lane.send(encode(FrameType.FILL, 1, 2, chunk, b"\x01", struct.pack(">I", PLAIN), frame))
                else:
                    batch = assemble(PLAIN, CODEC_ZSTD, literal_token(PLAIN), PLAIN, [frame])
                    lane.send(encode(FrameType.DATA, 1, 1, batch))
                code, reason = lane.close_of()
                assert code == CloseCode.PROTOCOL_ERROR, what
                assert "stream 1" in reason, (what, reason)
        assert growth() < FEW
        assert stage.west.status()["store"]["chunks"] == 0
        assert all(not arrival.data for arrival in array.arrivals)
