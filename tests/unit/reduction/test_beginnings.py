"""Chunks are found by how they begin, whoever asks, until newer ones take their place."""

from proxy.reduction.beginnings import PREFIX, Beginnings
from tests.unit.reduction.sites import noise

ONE, OTHER = noise(4096, 1), noise(4096, 2)


def spot(beginnings: Beginnings, data: bytes) -> int:
    found, _ = beginnings.recall(memoryview(data))
    assert found is not None
    return found


def recalled(beginnings: Beginnings, data: bytes) -> bytes | None:
    return beginnings.recall(memoryview(data))[1]


def test_a_chunk_is_known_by_its_first_bytes() -> None:
    beginnings = Beginnings(64)
    assert recalled(beginnings, ONE) is None
    beginnings.note(spot(beginnings, ONE), b"1" * 32)
    assert recalled(beginnings, ONE[:PREFIX] + OTHER) == b"1" * 32
    assert recalled(beginnings, b"x" + ONE) is None


def test_what_is_shorter_is_no_beginning() -> None:
    assert Beginnings(64).recall(memoryview(ONE)[: PREFIX - 1]) == (None, None)


def test_each_place_has_room_for_four_and_the_oldest_goes() -> None:
    beginnings = Beginnings(1)
    begins = [noise(PREFIX, number) for number in range(5)]
    for number in (0, 1, 2, 3, 0, 4):  # the first is noted again: then the second is the oldest
        beginnings.note(spot(beginnings, begins[number]), bytes((number,)) * 32)
    found = [recalled(beginnings, each) for each in begins]
    assert found == [None if number == 1 else bytes((number,)) * 32 for number in range(5)]


def test_hardly_any_is_lost_while_there_is_room() -> None:
    """Half as many as there is room for."""
    beginnings = Beginnings(1 << 8)
    begins = [noise(PREFIX, number) for number in range(1 << 9)]
    for number, each in enumerate(begins):
        beginnings.note(spot(beginnings, each), number.to_bytes(32))
    lost = sum(recalled(beginnings, each) is None for each in begins)
    assert lost < 60  # with places for one each it would be about 110


def test_what_is_remembered_to_be_known_is_known() -> None:
    """However many come, and what takes whose place."""
    beginnings = Beginnings(4)
    names = {}
    for number in range(64):
        begins = noise(PREFIX, number % 40)
        names[number.to_bytes(32)] = begins
        beginnings.note(spot(beginnings, begins), number.to_bytes(32))
        known = {name for name in names if beginnings.knows(name)}
        assert number.to_bytes(32) in known
        assert all(recalled(beginnings, names[name]) == name for name in known)
    lost = next(name for name in names if not beginnings.knows(name))
    beginnings.confirm(lost)
    assert beginnings.knows(lost)
