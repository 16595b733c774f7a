"""Another process looks into the index and never ends (row 17 of the fault table).

Pages that it can see cannot be used again, so the index grows up to its map size, and not beyond. Then an alarm names
the process, traffic passes unlearned, what is stored stays readable; and all is well once that process is gone.
"""

from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.disk import DiskStore
from dedupstore.errors import StoreUnusable
from dedupstore.store import ChunkStore
from tests.conformance.child import SIZE, started
from tests.conformance.filling import chunk, fetch, fill, held, name_of
from tests.unit.dedupstore.failing_disk import Clock

MAP = 16 << 20
SMALL = 64


def fill_until_alarmed(store: ChunkStore, index: Path) -> int:
    """Store tiny chunks, a container a time, until something is wrong; how many containers that took."""
    for count in range(1000):
        fill(store, range(count * 1136, count * 1136 + 1136), SMALL)
        assert index.stat().st_size <= MAP
        if store.alarms:
            return count
    raise AssertionError("the reader was never noticed")


def test_a_reader_that_never_ends(tmp_path: Path) -> None:
    clock = Clock()
    store = DiskStore(tmp_path, SIZE, cache_bytes=32 << 20, clock=clock)
    fill(store, range(10_000_000, 10_000_000 + 1136), SMALL)
    index = tmp_path / "index" / "data.mdb"
    with started("look", tmp_path) as reader:
        last = fill_until_alarmed(store, index)
        assert f"process {reader.pid}" in store.alarms[0]
        assert "end that process" in store.alarms[0]
        young = range((last - 2) * 1136, (last - 1) * 1136)
        assert held(store, young, SMALL) == list(young)
        assert fetch(store, name_of(young[0], SMALL)) == chunk(young[0], SMALL)
        for _ in range(5):
            clock.now += 641
            fill(store, range(20_000_000, 20_000_000 + 2272), SMALL)
        assert index.stat().st_size <= MAP
        assert len(held(store, young, SMALL)) > 0, "the store is not emptied in vain"
        reader.kill()
        reader.wait()
    clock.now += 641
    fill(store, range(30_000_000, 30_000_000 + 2273), SMALL)
    assert store.alarms == ()
    assert fetch(store, name_of(30_000_000, SMALL)) == chunk(30_000_000, SMALL)
    assert store.verify()[1] == 0
    store.close()


def test_a_store_whose_index_another_process_holds_full(tmp_path: Path) -> None:
    """Not even the new epoch can be noted: the store refuses to open, and says who has to end."""
    store = open_store("disk", SIZE, tmp_path)
    with started("look", tmp_path) as reader:
        for count in range(10_000):
            store.remember(b"p" * 16, count.to_bytes(8, "big"))
            store.write()
            if store.alarms:
                break
        store.close()
        with pytest.raises(StoreUnusable, match=f"full of what process {reader.pid} reads; end that"):
            open_store("disk", SIZE, tmp_path)
    store = open_store("disk", SIZE, tmp_path)
    assert store.alarms == ()
    assert store.recall(b"p" * 16) is not None
    store.close()


def test_a_store_whose_index_has_as_many_readers_as_it_may_have(tmp_path: Path) -> None:
    """To enlarge LMDB's table was the advice, and to see to the disk."""
    open_store("disk", SIZE, tmp_path).close()
    readers = "the index has as many readers as it can have; end the processes that read it$"
    with started("crowd", tmp_path), pytest.raises(StoreUnusable, match=readers):
        open_store("disk", SIZE, tmp_path)
    store = open_store("disk", SIZE, tmp_path)
    with started("crowd", tmp_path):
        fill(store, range(100))
        assert store.alarms == (), "who came first keeps its place"
    store.close()
