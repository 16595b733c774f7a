"""However the length of frames is changed on the way, the credit pays for all of them."""

from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from dedupstore.store import ChunkStore
from proxy.net.allowance import divided
from proxy.protocol.credit import SendCredit
from proxy.reduction.compression import Compressor
from proxy.reduction.encoder import GRAIN_MAX, Encoder
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import SMALL_CHUNKS, noise, site

DATA = noise(4 << 20)
LEAST = 4 << 10
"""What is read at least, and what frames have at least under a cap."""
GRAINS = st.sampled_from([LEAST, 16 << 10, 20_000, 64 << 10, GRAIN_MAX])


@settings(max_examples=50)
@given(st.integers(64 << 10, 400 << 10), st.lists(GRAINS, min_size=1, max_size=12), st.integers(1000, 65_536))
def test_frames_are_paid_for(initial: int, grains: list[int], read: int) -> None:
    """As a relay does it: all that is allowed is read, then the source pauses."""
    near, credit, at = site(ShelfStore()), SendCredit(initial, initial), 0
    encoder = Encoder(SMALL_CHUNKS, cast(ChunkStore, near.store), near.holdings, Compressor(None))

    def renewed() -> int:
        grain = grains[0] if len(grains) == 1 else grains.pop(0)
        encoder.grain, allowance = divided(credit.room, encoder.plain + encoder.unsent, grain)
        return allowance

    def ship() -> None:
        while (batch := encoder.take()) is not None:
            credit.spend(batch.plain)  # raises Misuse beyond the credit

    allowance = renewed()
    while allowance >= LEAST:
        while allowance > 0:
            n = len(room := encoder.buffer(min(read, allowance)))
            room[:] = DATA[at : at + n]
            at, allowance = at + n, allowance - n
            encoder.received(n)
            if encoder.ready:
                ship()
                allowance = renewed()
        allowance = renewed()
    encoder.flush()
    ship()
    assert credit.sent >= initial - 2 * LEAST - initial // 8


def test_frames_get_shorter_as_soon_as_that_can_be_paid() -> None:
    assert divided(100 << 10, 0, 16 << 10)[0] == 16 << 10
    assert divided(100 << 10, 90 << 10, 16 << 10)[0] == 16 << 10
    assert divided(100 << 10, 99 << 10, 16 << 10)[0] > 16 << 10
    assert divided(0, 1000, LEAST)[0] <= GRAIN_MAX
