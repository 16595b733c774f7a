"""Which slot of the file comes next: the lowest that is free, and of a huge store none is listed before its turn."""

from dedupstore.container_file import FileSlots


def test_the_lowest_comes_first() -> None:
    slots = FileSlots(6, {2, 4})
    assert [slots.take() for _ in range(2)] == [1, 3]
    slots.give(2)
    assert [slots.take() for _ in range(4)] == [2, 5, 6, None]


def test_above_the_limit_there_is_none() -> None:
    """Also where it was lowered, and if a slot in use lies beyond it."""
    slots = FileSlots(6, {2, 900})
    assert slots.take() == 1
    slots.limit = 3
    slots.give(5)
    assert [slots.take() for _ in range(2)] == [3, None]
    slots.give(2)
    assert [slots.take() for _ in range(2)] == [2, None]


def test_a_limit_that_rises_again() -> None:
    """Those above it are given out once, whether they had been given out before or passed over meanwhile."""
    slots = FileSlots(9, {2})
    assert [slots.take() for _ in range(5)] == [1, 3, 4, 5, 6]
    slots.unfit.add(4)
    slots.limit = 2
    slots.give(5)
    assert slots.take() is None
    slots.raise_limit(7, {1, 2, 6})
    assert [slots.take() for _ in range(4)] == [3, 5, 7, None]
    slots.raise_limit(9, {1, 2, 3, 5, 6, 7})
    assert [slots.take() for _ in range(3)] == [8, 9, None]


def test_one_that_is_unfit_stays_away() -> None:
    slots = FileSlots(2, {1, 2})
    slots.unfit.add(1)
    slots.give(1)
    slots.give(2)
    assert [slots.take() for _ in range(2)] == [2, None]


def test_a_huge_store_lists_no_slot_before_its_turn() -> None:
    """1 PiB in a file of configuration would take gigabytes at the start."""
    slots = FileSlots(1 << 50, {2})
    assert [slots.take() for _ in range(3)] == [1, 3, 4]
