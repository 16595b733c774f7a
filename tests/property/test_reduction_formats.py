"""Tokens, batches and literals: what was written is read back, and whatever else comes is parsed or refused."""

from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dedupstore.fingerprint import CHECK_BYTES
from proxy.reduction import batch, compression, tokens
from proxy.reduction.errors import BatchError
from tests.memory import tracing

numbers = st.integers(0, 2**32 - 1)
counts = st.integers(1, 2**32 - 1)
names = st.binary(min_size=32, max_size=32)

one_token = st.one_of(
    st.tuples(st.just(tokens.LITERAL), counts, st.just(0), st.just(b"")),
    st.tuples(st.just(tokens.REFERENCE), st.just(0), st.just(0), names),
    st.tuples(st.just(tokens.LEARN), counts, st.just(0), names.map(lambda name: name[:CHECK_BYTES])),
    st.tuples(st.just(tokens.SLICE), counts, numbers, names),
    st.tuples(st.just(tokens.MORE), counts, st.just(0), st.just(b"")),
    st.tuples(st.just(tokens.RUN), st.integers(tokens.RUN_MIN, 2**32 - 1), st.just(0), names),
)


def possible(some: list[tokens.Token]) -> list[tokens.Token]:
    """Without the runs that are behind no reference."""
    kept: list[tokens.Token] = []
    for token in some:
        if token[0] != tokens.RUN or (kept and kept[-1][0] == tokens.REFERENCE):
            kept.append(token)
    return kept


some_tokens = st.lists(one_token).map(possible)

WRITERS: dict[int, Callable[[int, int, bytes], bytes]] = {
    tokens.LITERAL: lambda n, offset, name: tokens.literal_token(n),
    tokens.REFERENCE: lambda n, offset, name: tokens.reference_token(name),
    tokens.LEARN: lambda n, offset, name: tokens.learn_token(n, name),
    tokens.SLICE: lambda n, offset, name: tokens.slice_token(name, offset, n),
    tokens.MORE: lambda n, offset, name: tokens.more_token(n),
    tokens.RUN: lambda n, offset, name: tokens.run_token(n, name),
}


def written(some: list[tokens.Token]) -> bytes:
    return b"".join(WRITERS[opcode](n, offset, name) for opcode, n, offset, name in some)


def refused(act: Callable[[], object]) -> bool:
    """Whether it is refused, with the one error that is declared for it."""
    try:
        act()
    except BatchError:
        return True
    return False


@given(numbers)
def test_varints_are_read_back(value: int) -> None:
    """An offset may be anything that a varint holds."""
    data = tokens.slice_token(bytes(32), value, 1)
    assert tokens.parse(data) == [(tokens.SLICE, 1, value, bytes(32))]
    assert len(data) <= 1 + 32 + 5 + 1


@given(some_tokens)
def test_tokens_are_read_back(some: list[tokens.Token]) -> None:
    assert tokens.parse(written(some)) == some
    assert tokens.parse(memoryview(written(some))) == some


@given(some_tokens.filter(len), st.data())
def test_tokens_cut_short_are_refused(some: list[tokens.Token], data: st.DataObject) -> None:
    whole = written(some)
    cut = data.draw(st.integers(1, len(written(some[-1:])) - 1))
    with pytest.raises(BatchError):
        tokens.parse(whole[:-cut])


@given(st.binary(max_size=200))
def test_any_bytes_are_tokens_in_their_one_form_or_refused(data: bytes) -> None:
    """There is one way to write each token, so what was parsed can be written again."""
    if not refused(lambda: tokens.parse(data)):
        assert written(tokens.parse(data)) == data


@given(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=8), st.sampled_from([None, 1, 3]))
def test_batches_are_read_back(pieces: list[bytes], level: int | None) -> None:
    literals = b"".join(pieces)
    codec, encoded = compression.Compressor(compression.zstd(level) if level else None).encode(pieces, len(literals))
    some = b"".join(tokens.literal_token(len(piece)) for piece in pieces)
    data = batch.assemble(len(literals), codec, some, len(literals), encoded)
    assert len(data) <= batch.length_bound(len(literals))
    read = batch.dissect(memoryview(data))
    assert (read.plain, read.codec, read.literal_length) == (len(literals), codec, len(literals))
    assert [token[1] for token in read.tokens] == [len(piece) for piece in pieces]
    assert bytes(compression.decode(read.codec, read.literals, read.literal_length)) == literals


@st.composite
def near_batches(draw: st.DrawFn) -> bytes:
    """Batches of which everything or nearly everything is right."""
    some = draw(st.lists(one_token, max_size=5))
    literals = draw(st.binary(max_size=300))
    plain = draw(st.integers(0, 600) | numbers)
    data = batch.assemble(plain, draw(st.integers(0, 2)), written(some), draw(st.integers(0, 600)), [literals])
    at = draw(st.integers(0, len(data)))
    return draw(st.sampled_from([data, data[:at], data[:at] + draw(st.binary(max_size=3)) + data[at + 1 :]]))


@given(st.binary(max_size=100) | near_batches())
def test_any_bytes_are_a_batch_or_refused(data: bytes) -> None:
    def read() -> None:
        found = batch.dissect(memoryview(data))
        literals = compression.decode(found.codec, found.literals, found.literal_length)
        assert len(literals) == found.literal_length <= found.plain <= batch.BATCH_PLAIN_MAX

    assert refused(read) or len(data) <= batch.length_bound(batch.BATCH_PLAIN_MAX)


@given(st.binary(max_size=400), st.none() | st.integers(0, 500) | numbers, st.booleans())
def test_literals_of_another_length_are_refused_without_taking_memory(data: bytes, other: int | None, junk: bool):
    """Neither the declared length nor the frame's makes us take memory before they are found to agree."""
    length = len(data) if other is None else other
    frame = data if junk else zstandard.compress(data)
    with tracing() as taken:
        wrong = refused(lambda: compression.decode(batch.CODEC_ZSTD, frame, length))
    assert wrong or junk or length == len(data) > 0
    assert not wrong or junk or length != len(data) or not data
    assert taken.most < 64 << 10
