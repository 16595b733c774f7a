"""Which containers leave memory when others are to be read: first those that were read to their ends."""

from contextlib import closing
from pathlib import Path

import pytest

from dedupstore.store import ChunkStore
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, name_of
from tests.unit.dedupstore.stores import opened

IN_MEMORY = 8
"""Containers that the cache has room for."""


def read(store: ChunkStore, number: int) -> None:
    assert fetch(store, name_of(number)) == chunk(number)


def resident(store: ChunkStore) -> list[int]:
    """Containers in memory, counted from 0."""
    first = [store.find(name_of(container * A_CONTAINER)) for container in range(IN_MEMORY + 1)]
    return [number for number, place in enumerate(first) if place is not None and store.behind(place, 1)]


@pytest.mark.parametrize(("last_read", "gone"), [((5, A_CONTAINER - 1), 5), ((5, 1), 0), ((0, 1), 1)])
def test_who_was_read_to_its_end_goes_before_who_was_not_read_for_longest(
    path: Path, last_read: tuple[int, int], gone: int
) -> None:
    """Streams read from end to end: what was read to its end is not wanted again soon."""
    with closing(opened(path)) as store:
        fill(store, range(A_CONTAINER * (IN_MEMORY + 1)))
    with closing(opened(path)) as store:
        for container in range(IN_MEMORY):
            read(store, container * A_CONTAINER)
        assert resident(store) == [*range(IN_MEMORY)]
        container, entry = last_read
        read(store, container * A_CONTAINER + entry)
        read(store, IN_MEMORY * A_CONTAINER)
        assert resident(store) == [each for each in range(IN_MEMORY + 1) if each != gone]
