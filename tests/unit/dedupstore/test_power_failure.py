"""What is on the disk before something else relies on it: of what was not synced, a power failure keeps any part.

All else need not be synced, for nothing is believed unverified (FORMAT.md).
"""

import errno
import os
from pathlib import Path

import pytest

from dedupstore import container_file
from dedupstore.errors import StoreUnusable
from dedupstore.index import Index
from dedupstore.records import Meta
from tests.conformance.filling import healthy
from tests.unit.dedupstore.stores import failing, opened


def test_the_superblock_is_on_the_disk_before_the_index_names_the_store(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is synced, so it outlived a power failure soon after that the superblock did not: a foreign store."""
    events: list[str] = []

    def fsync(file: int) -> None:
        assert os.pread(file, 8, 0) == b"ISTHSTOR"
        os.fsync(file)
        events.append("synced")

    def begin(index: Index, meta: Meta) -> None:
        events.append("named")
        named(index, meta)

    named = Index.begin
    monkeypatch.setattr(container_file, "fsync", fsync)
    monkeypatch.setattr(Index, "begin", begin)
    opened(path).close()
    assert events == ["synced", "named"]
    opened(path).close()
    assert events == ["synced", "named", "named"]


def test_a_superblock_that_cannot_be_synced_is_no_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(container_file, "fsync", failing(errno.EIO))
        with pytest.raises(StoreUnusable, match="the disk failed: Input/output error; see to the disk"):
            opened(path)
    store = opened(path)
    assert healthy(store)
    store.close()


def test_a_compacted_index_is_on_the_disk_before_it_takes_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a power failure may leave the name without the data; the old index is gone then, and all that it knew."""
    synced: list[tuple[int, int, int]] = []

    def look(status: os.stat_result) -> tuple[int, int, int]:
        return status.st_ino, status.st_size, status.st_mtime_ns

    def fsync(file: int) -> None:
        real_fsync(file)
        synced.append(look(os.fstat(file)))

    def replace(source: Path, target: Path) -> None:
        assert look(source.stat()) in synced
        real_replace(source, target)

    real_fsync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    index = Index(path, 1 << 20).compacted(1 << 20)
    assert len(synced) == 1
    assert (path / "data.mdb").stat().st_mode & 0o777 == 0o600
    index.close()
