"""A process that works on a store is killed at random moments, fifty times, always on the same store.

Rows 9 and 10 of the fault table: after each kill the store opens without an alarm, everything it says it holds is
there and right, a second look finds nothing more to drop, and it goes on from there. What a kill may cost is the
container being filled, those not yet committed, and the old ones whose slots were just being written over.
"""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from dedupstore.disk import DiskStore
from dedupstore.fingerprint import fingerprint
from dedupstore.store import CONTAINER_BYTES
from tests.conformance.child import SIZE
from tests.conformance.filling import fetch
from tests.conformance.independent_reader import Reader
from tests.conformance.killing import kill_at_work

KILLS = 50
SLOTS = 11


@pytest.mark.slow
@pytest.mark.timeout(480)
def test_fifty_kills(tmp_path: Path) -> None:
    draw = random.Random(1)
    dropped = evicting = 0
    for kill in range(KILLS):
        kill_at_work(tmp_path, kill, draw.uniform(0, 0.2))
        left = Reader(tmp_path)
        evicting += max(left.rows, default=0) > SLOTS  # with more than there are slots, old ones were written over
        store = DiskStore(tmp_path, SIZE, cache_bytes=32 << 20)
        dropped += check(store, left.places)
        store.close()
        assert (tmp_path / "containers").stat().st_size <= (SLOTS + 1) * CONTAINER_BYTES
    assert evicting > KILLS // 2, "most kills hit a store that was full and writing over old containers"


def check(store: DiskStore, left: Iterable[bytes]) -> int:
    """`left`: the chunks that the index still leads to."""
    assert store.alarms == ()
    chunks = store.figures().chunks
    sound, dropped = store.verify()
    assert sound + dropped == chunks
    assert store.verify() == (sound, 0)
    names = [name for name in left if store.find(name) is not None]
    assert len(names) == sound
    for name in names[:: max(1, len(names) // 50)]:
        assert fingerprint(fetch(store, name)) == name
    return dropped
