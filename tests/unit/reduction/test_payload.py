"""Where chunks end for the sake of addresses."""

import random

import pytest

from dedupstore.chunker import Chunker
from dedupstore.memory import MemoryStore
from proxy.iscsi.span import address_of
from proxy.reduction.compression import Compressor
from proxy.reduction.encoder import Encoder
from proxy.reduction.holdings import Holdings
from proxy.reduction.payload import APART_LEAST, APART_MIN, WINDOW, Payload

VOLUME = random.Random(7).randbytes(8 * WINDOW)
APART = Chunker().average // 2


class Placed:
    """Payload that goes into an encoder, and the lengths of the chunks that come of it."""

    def __init__(self) -> None:
        self.store = MemoryStore(64 << 20)
        self.encoder = Encoder(Chunker(), self.store, Holdings(self.store, b"peer"), Compressor(None))
        self.payload = Payload(self.encoder)

    def put(self, byte: int, length: int, *, by: int = 0, pauses: bool = False, known: bool = True) -> None:
        """That part of the volume, in pieces of `by` bytes."""
        self.payload.coming = length
        for at in range(byte, byte + length, by or length):
            piece = VOLUME[at : min(at + (by or length), byte + length)]
            self.payload.place(memoryview(piece), address_of(0, at) if known else None)
            if pauses:
                self.payload.settle(lazy=False)
                self.encoder.flush()

    def chunks(self) -> list[int]:
        """Lengths, in order, when the stream ends here."""
        self.payload.settle(lazy=False)
        self.encoder.finish()
        return [len(self.store.read(name) or b"") for name in self.store.behind((1, -1), 1136)]


def borders(lengths: list[int]) -> list[int]:
    """Where chunks end."""
    ends, at = [], 0
    for length in lengths:
        at += length
        ends.append(at)
    return ends


def cut(byte: int, length: int, *, by: int = 0, pauses: bool = False) -> list[int]:
    """Lengths of the chunks that a run of the volume is cut into."""
    placed = Placed()
    placed.put(byte, length, by=by, pauses=pauses)
    return placed.chunks()


@pytest.mark.parametrize(("byte", "length"), [(0, 3 * WINDOW), (WINDOW - APART_LEAST, 2 * WINDOW), (100, 5 * WINDOW)])
def test_chunks_end_at_multiples_of_the_window(byte: int, length: int) -> None:
    ends = {byte + end for end in borders(cut(byte, length))}
    assert set(range(WINDOW, byte + length + 1, WINDOW)) <= ends


def test_content_makes_no_border_near_a_window_s_end() -> None:
    ends = [end for end in borders(cut(0, len(VOLUME))) if end % WINDOW]
    assert ends
    assert max(end % WINDOW for end in ends) <= WINDOW - APART
    by_content = borders(Chunker().cut(VOLUME[:WINDOW], final=True))
    assert [end for end in ends if end < WINDOW] == [end for end in by_content if end <= WINDOW - APART]


@pytest.mark.parametrize("by", [512, 8 << 10, 40_000, WINDOW, 100_000])
@pytest.mark.parametrize("pauses", [False, True])
def test_pieces_and_pauses_change_no_border(by: int, pauses: bool) -> None:
    assert cut(4096, 4 * WINDOW, by=by, pauses=pauses) == cut(4096, 4 * WINDOW)


def test_data_of_no_address_is_cut_by_content_alone() -> None:
    placed = Placed()
    placed.put(0, len(VOLUME), by=50_000, known=False)
    assert placed.chunks() == Chunker().cut(VOLUME, final=True)


def test_a_jump_is_a_border_some_bytes_after_the_last_one() -> None:
    near, far = Placed(), Placed()
    for placed, length in ((near, APART_LEAST), (far, APART_MIN)):
        placed.put(0, length)
        placed.put(3 * WINDOW, APART_LEAST)
    assert near.chunks() == [2 * APART_LEAST]
    assert far.chunks() == [APART_MIN, APART_LEAST]


def test_a_jump_to_a_longer_pdu_is_one_sooner() -> None:
    placed = Placed()
    placed.put(0, APART_LEAST)
    placed.put(3 * WINDOW, APART_MIN)
    assert placed.chunks() == [APART_LEAST, APART_MIN]


def test_too_little_before_a_window_s_end_is_no_chunk_of_its_own() -> None:
    placed = Placed()
    placed.put(WINDOW - 100, 100)
    placed.put(WINDOW, APART_LEAST)
    assert placed.chunks() == [100 + APART_LEAST]
