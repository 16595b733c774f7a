"""How a configured size is divided, and what of a store fits into it: rules 3 and 4 of FORMAT.md, "Opening"."""

from pathlib import Path
from typing import NamedTuple

from dedupstore.change import Change
from dedupstore.container import LARGE, PAGE_BYTES, SMALL, Layout
from dedupstore.container_file import ContainerFile
from dedupstore.errors import StoreUnusable
from dedupstore.index import Index
from dedupstore.records import Meta
from dedupstore.roster import Row

LEAST_BYTES = 64 << 20
_LEAST_INDEX = 16 << 20
_SMALL_FROM = 1 << 30
"""A store of fewer bytes has no room for a container for each of many streams, even if containers are small."""
_SMALL_TO = 512 << 30
"""In a store of more bytes the list of small containers would take too much memory."""


class Sizes(NamedTuple):
    """How a configured size is divided."""

    index_bytes: int
    container_bytes: int
    """The superblock's slot included."""
    new: Layout
    """The layout of a store that is created now."""

    @classmethod
    def of(cls, size_bytes: int, new: Layout | None) -> "Sizes":
        """The division that FORMAT.md gives, unless `new` says otherwise."""
        index = max(_LEAST_INDEX, size_bytes // 32 // PAGE_BYTES * PAGE_BYTES)
        few_or_many = not _SMALL_FROM <= size_bytes <= _SMALL_TO
        return cls(index, size_bytes - index, new or (LARGE if few_or_many else SMALL))

    def map_bytes(self, present: int) -> int:
        """How long the map has to be of an index that has `present` bytes. If the store's size was lowered, these may
        be more than it may have, and making the index smaller takes room of its own."""
        return self.index_bytes if present <= self.index_bytes else present + _LEAST_INDEX

    def slots(self, layout: Layout) -> int:
        """How many containers there may be."""
        return self.container_bytes // layout.slot_bytes - 1


def containers_of(size_bytes: int) -> int:
    """How many containers a new store of that size may come to hold."""
    sizes = Sizes.of(size_bytes, None)
    return sizes.slots(sizes.new)


def fit(
    containers: ContainerFile, index: Index, meta: Meta, sizes: Sizes, alarms: dict[str, str], *, keep: bool
) -> tuple[Index, list[tuple[int, Row]], str]:
    """Drop what does not fit. Returns the index, perhaps a new one, the rows of the containers that stay, oldest first,
    and what the size has cost, in words. `keep`: nothing is dropped because the file is too short, or the size too
    small: raises StoreUnusable.
    """
    rows = index.rows()
    slots = sizes.slots(containers.layout)
    kept = _within_file(rows, containers)
    if len(kept) < len(rows):
        count = len(rows) - len(kept)
        lost = f"{count} containers are lost" if count > 1 else "1 container is lost"
        if keep:
            wrong = f"store {index.path.parent} cannot be opened: its file `containers` is too short"
            raise StoreUnusable(f"{wrong}; put all of it back, or {lost} when the site starts next")
        alarms["short"] = f"The file `containers` is too short: {lost}. The others are used; a restart ends this alarm."
    found = sorted(_one_a_slot(kept), key=lambda one: (one[1].sealed, one[0]))
    if keep and (any(row.slot > slots for _, row in found) or index.file_bytes() > sizes.index_bytes):
        wrong = f"store {index.path.parent} cannot be opened: it is larger than store.size"
        raise StoreUnusable(f"{wrong}; set that as it was, or what does not fit goes when the site starts next")
    kept = [(container, row) for container, row in found if 1 <= row.slot <= slots]
    _drop(index, meta, rows, kept)
    containers.cut(slots)
    index, kept = _fit_index(index, meta, sizes, containers.layout, kept)
    return index, kept, _shrunk(index.path.parent, found, kept)


def _shrunk(path: Path, found: list[tuple[int, Row]], kept: list[tuple[int, Row]]) -> str:
    if len(found) == len(kept):
        return ""
    lost = sum(row.bytes for _, row in found) - sum(row.bytes for _, row in kept)
    return (
        f"store.size is smaller than what store {path} held: {len(found) - len(kept)} of its {len(found)} containers,"
        f" with {lost >> 20} MiB of chunks, were dropped."
    )


def _fit_index(
    index: Index, meta: Meta, sizes: Sizes, layout: Layout, rows: list[tuple[int, Row]]
) -> tuple[Index, list[tuple[int, Row]]]:
    """Compact an index that is too large for its map; while it still is, drop the oldest quarter of the containers."""
    most = sizes.index_bytes
    while index.file_bytes() > most:
        most = _most_live(sizes.index_bytes, layout, index.page_bytes)
        index = index.compacted(index.file_bytes() + _LEAST_INDEX)
        if index.file_bytes() > most:
            kept = rows[len(rows) // 4 + 1 :]
            _drop(index, meta, rows, kept)
            rows = kept
        else:
            index.close()
            index = Index(index.path, sizes.index_bytes)
    return index, rows


def _most_live(map_bytes: int, layout: Layout, page_bytes: int) -> int:
    """Bytes that a compacted index may have, so that its map has room to remove a container.

    With less room nothing could be learned any more, nor any container removed to make room for it (`Index.crowded`).
    """
    usable = map_bytes * 9 // 10
    return max(usable - 2 * layout.max_entries * page_bytes, usable // 3)


def _within_file(rows: list[tuple[int, Row]], containers: ContainerFile) -> list[tuple[int, Row]]:
    size, each, ahead = containers.size(), containers.layout.slot_bytes, containers.layout.data_offset
    return [(name, row) for name, row in rows if row.slot * each + ahead + row.bytes <= size]


def _one_a_slot(rows: list[tuple[int, Row]]) -> list[tuple[int, Row]]:
    # A transaction that failed while the slot was already written over leaves two rows; the younger one is right.
    latest = {row.slot: container for container, row in rows}
    return [(container, row) for container, row in rows if latest[row.slot] == container]


def _drop(index: Index, meta: Meta, rows: list[tuple[int, Row]], kept: list[tuple[int, Row]]) -> None:
    alive = {container for container, _ in kept}
    gone = {container: list[bytes]() for container, _ in rows if container not in alive}
    if gone:
        index.commit(Change(meta.next, removed=gone))
    if index.chunks() > sum(row.entries for _, row in kept):
        index.sweep(alive.__contains__)
    index.refresh()
