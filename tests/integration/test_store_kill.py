"""A process that works on a store is killed at random moments, fifty times, always on the same store.

Rows 9 and 10 of the fault table: after each kill the store opens without an alarm, everything it says it holds is
there and right, a second look finds nothing more to drop, and it goes on from there. What a kill may cost is the
container being filled, those not yet committed, and the old ones whose slots were just being written over.
"""

import random
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.fingerprint import fingerprint
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from tests.conformance.child import SIZE
from tests.conformance.filling import fetch
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
        store = open_store("disk", SIZE, tmp_path, cache_bytes=32 << 20)
        dropped += check(store)
        evicting += newest(store) > SLOTS
        store.close()
        assert (tmp_path / "containers").stat().st_size <= (SLOTS + 1) * CONTAINER_BYTES
    assert evicting > KILLS // 2, "most kills hit a store that was full and writing over old containers"


def newest(store: ChunkStore) -> int:
    """The id of the youngest container: above the number of slots, old ones have been written over. 0 if there is none:
    on a busy machine the first kill may come before anything is committed."""
    names = list(store.fingerprints())
    if not names:
        return 0
    place = store.find(names[-1])
    assert place is not None
    return place[0]


def check(store: ChunkStore) -> int:
    assert store.alarms == ()
    chunks = store.figures().chunks
    sound, dropped = store.verify()
    assert sound + dropped == chunks
    assert store.verify() == (sound, 0)
    names = list(store.fingerprints())
    assert len(names) == len(set(names)) == sound
    for name in names[:: max(1, len(names) // 50)]:
        assert fingerprint(fetch(store, name)) == name
    return dropped
