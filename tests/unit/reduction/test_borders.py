"""Where the sending side ends chunks does not depend on how the data came, nor on when its source paused."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstore.chunker import Chunker
from dedupstore.fingerprint import fingerprint
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import SMALL_CHUNKS, Stream, cut_up, noise, send, site, two_sites

ODD_CHUNKS = Chunker(513, 1027, 2049)
DATA = noise(60_000, 11)


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_a_border_one_byte_before_a_pause_is_found_behind_other_chunks_of_the_read(before: int, last: int) -> None:
    """FastCDC looks at bytes in pairs from each chunk's start, so it matters whether chunks before it are odd."""
    lengths = SMALL_CHUNKS.cut(DATA)
    pairs = pairwise(lengths)
    at = next(at for at, pair in enumerate(pairs) if (pair[0] % 2, pair[1] % 2) == (before, last))
    start, border = sum(lengths[:at]), sum(lengths[: at + 2])
    near, far = two_sites()
    send(near, far, [DATA[start : border + 1], DATA[border + 1 :]], pauses=True)
    assert len(near.store.names) == len(lengths[at:]) + 1


@given(
    st.sampled_from([SMALL_CHUNKS, ODD_CHUNKS]),
    st.sets(st.tuples(st.integers(1, 30), st.integers(-2, 2)), min_size=1, max_size=20),
)
def test_pauses_around_borders_change_none(chunker: Chunker, around: set[tuple[int, int]]) -> None:
    lengths = chunker.cut(DATA)
    ends = sorted({sum(lengths[:border]) + beyond for border, beyond in around})
    pieces = cut_up(DATA, [end - start for start, end in pairwise([0, *ends])])
    near, far = two_sites()
    send(near, far, pieces, pauses=True, chunker=chunker)
    alone = two_sites()
    send(*alone, [DATA], chunker=chunker)
    assert near.store.names == alone[0].store.names


@pytest.mark.parametrize("chunker", [SMALL_CHUNKS, ODD_CHUNKS])
def test_a_chunk_of_the_greatest_length_is_complete_when_it_has_come(chunker: Chunker) -> None:
    maximum = chunker.maximum
    data = next(same for same in (bytes((byte,)) * maximum for byte in range(256)) if chunker.cut(same) == [maximum])
    near = site(ShelfStore())
    stream = Stream(near, site(ShelfStore()), chunker=chunker)
    stream.write(data[:-1])
    stream.pause()
    assert not near.store.names
    stream.write(data[-1:])
    assert near.store.names == [fingerprint(data)]
