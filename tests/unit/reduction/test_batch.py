"""A batch's outer form: every length is checked before anything is decoded or kept."""

import struct

import pytest

from proxy.reduction.batch import BATCH_PLAIN_MAX, HEADER_BYTES, assemble, dissect, length_bound, overhead_bound
from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import literal_token, more_token, reference_token
from tests.memory import tracing


def test_a_batchs_layout() -> None:
    data = assemble(5, 1, b"\x01\x05", 5, [b"frame"])
    assert data == bytes.fromhex("00000005 01 000002 00000005 0105") + b"frame"
    read = dissect(memoryview(data))
    assert (read.plain, read.codec, read.literal_length, bytes(read.literals)) == (5, 1, 5, b"frame")
    assert read.tokens == [(1, 5, 0, b"")]


def batch(plain: int, tokens: bytes, declared: int, literals: bytes, token_length: int | None = None) -> bytes:
    length = len(tokens) if token_length is None else token_length
    return struct.pack(">III", plain, length, declared) + tokens + literals


SIX = literal_token(6)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "no header"),
        (bytes(HEADER_BYTES - 1), "no header"),
        (batch(0, b"", 0, b""), "delivers 0 bytes"),
        (batch(BATCH_PLAIN_MAX + 1, SIX, 6, b"sixsix"), "delivers 524289 bytes"),
        (batch(2**32 - 1, SIX, 6, b"sixsix"), "delivers 4294967295 bytes"),
        (batch(6, SIX, 6, bytes(length_bound(6) - HEADER_BYTES - 1)), "too long"),
        (batch(5, SIX, 6, b"sixsix"), "6 literal bytes in a batch of 5"),
        (batch(6, SIX, 2**32 - 1, b"sixsix"), "4294967295 literal bytes"),
        (batch(6, SIX, 6, b"", 3), "tokens of 3 bytes"),
        (batch(6, SIX, 6, b"", 2**24 - 1), "tokens of 16777215 bytes"),
        (batch(100, more_token(1) * 129, 0, b""), "tokens of 258 bytes are too long"),
        (batch(6, literal_token(5), 6, b"sixsix"), "sum up to 6"),
        (batch(6, literal_token(5) + literal_token(2), 6, b"sixsix"), "sum up to 6"),
        (batch(6, literal_token(2**32 - 1), 6, b"sixsix"), "sum up to 6"),
        (batch(32, reference_token(bytes(32)), 1, b"x"), "sum up to 1"),
        (batch(6, b"\x07", 6, b"sixsix"), "unknown token"),
    ],
)
def test_a_batch_that_contradicts_itself_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(BatchError, match=complaint):
        dissect(memoryview(data))


def test_the_longest_legal_batches() -> None:
    """All literals in their own bytes beside as many tokens as there may be, and the most plain bytes."""
    plain = BATCH_PLAIN_MAX
    rest = overhead_bound(plain) - HEADER_BYTES - len(literal_token(plain))
    some = literal_token(plain) + more_token(1) * (rest // 2)
    data = batch(plain, some, plain, bytes(plain))
    assert length_bound(plain) - len(data) <= 1
    assert dissect(memoryview(data)).literal_length == plain


def test_tokens_take_little_memory() -> None:
    """The shortest token takes forty times its length when it is parsed; so there may not be many."""
    plain = BATCH_PLAIN_MAX
    data = memoryview(batch(plain, more_token(1) * ((overhead_bound(plain) - HEADER_BYTES) // 2), 0, b""))
    with tracing() as taken:
        assert dissect(data).tokens
    assert taken.most < 4 << 20
