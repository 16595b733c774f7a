"""However the length of frames is changed on the way, the credit pays for all of them."""

from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from dedupstore.chunker import Chunker
from dedupstore.store import ChunkStore
from proxy.net.allowance import divided
from proxy.protocol.credit import SendCredit, Trust, cost_of
from proxy.reduction.compression import Compressor
from proxy.reduction.encoder import GRAIN_MAX, Encoder
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import noise, site

DATA = noise(4 << 20)
LEAST = 4 << 10
"""What is read at least, and what frames have at least under a cap."""
GRAINS = st.sampled_from([LEAST, 16 << 10, 20_000, 64 << 10, GRAIN_MAX])


@settings(max_examples=200)
@given(st.integers(64 << 10, 400 << 10), GRAINS, GRAINS, st.integers(0, 3 << 20))
def test_frames_are_paid_for(initial: int, grain: int, last: int, at: int) -> None:
    """As a relay does it: all that is allowed is read, another lane says how long frames should be, a pause."""
    near, credit = site(ShelfStore()), SendCredit(initial, initial, Trust(0))
    encoder = Encoder(Chunker(), cast(ChunkStore, near.store), near.holdings, Compressor(None))

    def renewed(grain: int) -> int:
        encoder.grain, allowance = divided(credit.room, encoder.plain + encoder.unsent, grain)
        return allowance

    def ship() -> None:
        while (batch := encoder.take()) is not None:
            cost = cost_of(batch.plain, len(batch.data), lean=False)
            credit.spend(cost, cost)  # raises Misuse beyond the credit

    allowance = renewed(grain)
    while allowance >= LEAST:
        while allowance > 0:
            n = len(room := encoder.buffer(allowance))
            room[:] = DATA[at : at + n]
            at, allowance = at + n, allowance - n
            encoder.received(n)
            if encoder.ready:
                ship()
                allowance = renewed(grain)
        allowance = renewed(last)
    encoder.flush()
    ship()
    assert credit.sent >= initial - initial // 8 - 2 * LEAST


def test_frames_get_shorter_as_soon_as_that_can_be_paid() -> None:
    assert divided(100 << 10, 0, 16 << 10)[0] == 16 << 10
    assert divided(100 << 10, 90 << 10, 16 << 10)[0] == 16 << 10
    assert divided(100 << 10, 99 << 10, 16 << 10)[0] > 16 << 10
    assert divided(0, 1000, LEAST)[0] <= GRAIN_MAX
