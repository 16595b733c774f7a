"""The tokens of a batch that waits are packed, for a thousand streams may wait."""

import contextlib
from collections.abc import Iterator

import pytest

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import fingerprint
from proxy.reduction.batch import overhead_bound
from proxy.reduction.obtaining import Needs
from proxy.reduction.tokens import Token, learn_token, literal_token, pack, reference_token, unpack
from tests.memory import tracing
from tests.unit.reduction.batches import CHUNK, NAME, OTHER, OTHER_NAME, WHOLE, advanced, batch, hold, literal
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import decoder_of, noise, site


@contextlib.contextmanager
def little_is_kept_of(data: memoryview) -> Iterator[None]:
    """What this takes, and keeps, is less than twice that batch."""
    with tracing() as taken:
        yield
    assert taken.kept < 2 * len(data)


def test_tokens_that_wait_take_little_memory() -> None:
    """All streams of a peer may wait with a batch each, which costs 64 KiB of credit if it is compressed well."""
    decoder, literals = decoder_of(site(ShelfStore())), noise(LARGEST_CHUNK, 3)
    many = overhead_bound(len(literals)) // 2 - 50
    tokens = WHOLE, literal_token(1) * many, literal(literals[many:])
    data = batch(*tokens, literals=literals, plain=1000 + len(literals))
    with little_is_kept_of(data):
        assert decoder.feed(data) is None
        assert decoder.obtaining.needs() == Needs(ask=[NAME])
    decoder.obtaining.fill(NAME, CHUNK)
    assert advanced(decoder) == CHUNK + literals


def test_what_was_delivered_before_a_second_wait_takes_little_memory() -> None:
    """It came in as many pieces as there were tokens, which took ten times as much as the batch."""
    decoder, literals = decoder_of(site(ShelfStore())), noise(LARGEST_CHUNK - len(OTHER), 3)
    many = overhead_bound(len(literals)) // 2 - 100
    learned = literal(OTHER), learn_token(len(OTHER), OTHER_NAME)  # so that it is not asked for before its turn
    tokens = WHOLE, literal_token(1) * many, reference_token(OTHER_NAME), *learned, literal(literals[many:])
    taught = literals[:many] + OTHER + literals[many:]
    data = batch(*tokens, literals=taught, plain=len(CHUNK) + len(OTHER) + len(taught))
    with little_is_kept_of(data):
        assert decoder.feed(data) is None
        decoder.obtaining.fill(NAME, CHUNK)
        assert decoder.advance() is None
        assert decoder.obtaining.needs() == Needs(ask=[OTHER_NAME])
    decoder.obtaining.fill(OTHER_NAME, OTHER)
    assert advanced(decoder) == CHUNK + literals[:many] + OTHER + taught[many:]


def test_a_batch_that_waits_for_each_chunk_is_not_packed_as_a_whole_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 900 chunks among as many tokens as there may be that took ten seconds."""
    far, packed, chunks = site(ShelfStore()), list[int](), [bytes((n,)) * 2000 for n in range(100)]
    hold(far, *chunks)
    tokens = [token for chunk in chunks for token in (reference_token(fingerprint(chunk)), *[literal_token(1)] * 100)]
    data = batch(*tokens, literals=bytes(10_000), plain=210_000)
    cold = set(map(fingerprint, chunks))
    read = far.store.read
    monkeypatch.setattr(far.store, "read", lambda name: None if name in cold else read(name))

    def noted(some: list[Token]) -> bytes:
        packed.append(len(some))
        return pack(some)

    monkeypatch.setattr("proxy.reduction.decoder.pack", noted)
    decoder = decoder_of(far)
    decoded = decoder.feed(data)
    for chunk in chunks:
        assert decoded is None
        needs = decoder.obtaining.needs()
        assert needs is not None
        assert needs.load == fingerprint(chunk)
        cold.remove(fingerprint(chunk))
        decoded = decoder.advance()
    assert decoded is not None
    assert decoded.data == b"".join(chunk + bytes(100) for chunk in chunks)
    assert sum(packed) < 4 * len(tokens)


def test_a_batch_that_asks_for_each_chunk_is_not_unpacked_as_a_whole_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it teaches later is not asked for before its turn: 600 chunks, among as many tokens as there may be, took
    six seconds."""
    unpacked, chunks = list[int](), [bytes((n,)) * 500 for n in range(100)]
    tokens = [reference_token(fingerprint(chunk)) for chunk in chunks]
    tokens += [token for chunk in chunks for token in (literal(chunk), learn_token(500, fingerprint(chunk)))]
    tokens += [literal_token(1)] * 20_000 + [literal_token(LARGEST_CHUNK - 20_000)]
    whole, rest = b"".join(chunks), noise(LARGEST_CHUNK, 4)

    def noted(packed: bytes) -> list[Token]:
        unpacked.append(len(found := unpack(packed)))
        return found

    monkeypatch.setattr("proxy.reduction.decoder.unpack", noted)
    decoder = decoder_of(site(ShelfStore()))
    decoded = decoder.feed(batch(*tokens, literals=whole + rest, plain=2 * len(whole) + len(rest)))
    for chunk in chunks:
        assert decoded is None
        assert decoder.obtaining.needs() == Needs(ask=[fingerprint(chunk)])
        decoder.obtaining.fill(fingerprint(chunk), chunk)
        decoded = decoder.advance()
    assert decoded is not None
    assert decoded.data == whole * 2 + rest
    assert sum(unpacked) < len(chunks) * len(tokens) / 3
