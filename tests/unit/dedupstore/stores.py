"""Small stores on disk."""

from pathlib import Path

from dedupstore import open_store
from dedupstore.store import ChunkStore
from tests.conformance.filling import A_CONTAINER

SIZE = 64 << 20
FIVE = range(A_CONTAINER * 5)


def opened(path: Path, size: int = SIZE) -> ChunkStore:
    return open_store("disk", size, path, cache_bytes=32 << 20, clock=lambda: 1_700_000_000.0)
