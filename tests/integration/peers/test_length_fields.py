"""Lengths that announce more than their frame may have are refused when they are read, before anything is allocated.

Only the announcement is sent, never the bytes: the answer comes at once, and west's memory does not move.
"""

import pytest

from dedupstore.fingerprint import fingerprint
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.frames import encode_end
from proxy.protocol.reader import BATCH_MAX, PAYLOAD_MAX, encode, header
from proxy.reduction.batch import CODEC_NONE, CODEC_ZSTD, assemble
from proxy.reduction.tokens import learn_token, literal_token, slice_token
from tests.integration.bed.ends import Array, swallow
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import hello, lesson, open_
from tests.integration.peers.stage import hub, watch_memory

U24, U32, U64 = (1 << 24) - 1, (1 << 32) - 1, (1 << 64) - 1
FEW = 12 << 20
"""Bytes by which a process may move for other reasons."""
CHUNK = bytes(32)


def fields(plain: int, codec: int, tokens: int, literals: int) -> bytes:
    """DATA 1 of stream 1 with these in the batch's header, and four bytes more."""
    packed = (codec << 24 | tokens).to_bytes(4, "big")
    batch = plain.to_bytes(4, "big") + packed + literals.to_bytes(4, "big") + b"four"
    return encode(FrameType.DATA, 1, 1, batch)


def tokens(token: bytes, number: int = 1) -> bytes:
    """DATA of stream 1 with that token alone."""
    return encode(FrameType.DATA, 1, number, assemble(4, CODEC_NONE, token, 0, [b""]))


FRAMES = {f"{kind.name} of 16 MiB": header(kind, U24, 1 if kind >= FrameType.OPEN else 0, 1) for kind in FrameType}
BATCHES = {
    "plain length": fields(U32, CODEC_NONE, 2, 4),
    "length of the tokens": fields(4, CODEC_NONE, U24, 4),
    "length of the literals": fields(128 << 10, CODEC_ZSTD, 2, U32),
    "a literal": tokens(literal_token(U32)),
    "a slice": encode(FrameType.DATA, 1, 1, lesson(b"known")) + tokens(slice_token(fingerprint(b"known"), U32, U32), 2),
    "a chunk to learn": tokens(learn_token(U32, CHUNK)),
    "the end": encode(FrameType.END, 1, 1, encode_end(U64, b"")),
    "a chunk that fills": encode(FrameType.FILL, 1, 1, CHUNK + b"\x01" + U32.to_bytes(4, "big") + b"four"),
}


def test_lengths_beyond_their_bounds(bed: Bed) -> None:
    with Array(swallow) as array, hub(bed, array.address) as stage:
        growth = watch_memory(stage.west)
        for what, frames in (FRAMES | BATCHES).items():
            with stage.dial() as lane:
                lane.come_up(hello("rogue", "west"))
                lane.send(open_(1), frames)
                code, reason = lane.close_of()
                assert code == CloseCode.PROTOCOL_ERROR, what
                assert "stream 1" in reason or reason.split()[0] in what, (what, reason)
        assert growth() < FEW
        assert {bytes(arrival.data) for arrival in array.arrivals} <= {b"", b"known"}


def test_hello_of_sixteen_mebibytes(bed: Bed) -> None:
    """The first frame of all is read with the same care."""
    with Array() as array, hub(bed, array.address) as stage:
        growth = watch_memory(stage.west)
        for length in (U24, PAYLOAD_MAX, 4097):
            with stage.dial() as lane:
                lane.send(header(FrameType.HELLO, length, 0, 0))
                code, reason = lane.close_of()
                assert code == CloseCode.HANDSHAKE
                assert "HELLO" in reason
                assert str(length) in reason
        assert growth() < FEW
        stage.still_works(array)


@pytest.mark.parametrize(("kind", "length"), [(FrameType.ACK, PAYLOAD_MAX), (FrameType.DATA, BATCH_MAX)])
def test_a_long_frame_before_hello(bed: Bed, kind: FrameType, length: int) -> None:
    """It is not waited for: hundreds of connections that have not said HELLO would have a megabyte each."""
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.send(header(kind, length, 0, 0))
        code, reason = lane.close_of()
        assert (code, "comes before HELLO" in reason) == (CloseCode.HANDSHAKE, True), reason
