"""Chunks are found by how they begin, whoever asks, until newer ones take their place."""

from proxy.reduction.beginnings import PREFIX, Beginnings
from tests.unit.reduction.sites import noise

ONE, OTHER = noise(4096, 1), noise(4096, 2)


def test_a_chunk_is_known_by_its_first_bytes() -> None:
    beginnings = Beginnings(64)
    assert beginnings.recall(memoryview(ONE)) is None
    beginnings.note(memoryview(ONE), b"1" * 32)
    assert beginnings.recall(memoryview(ONE[:PREFIX] + OTHER)) == b"1" * 32
    assert beginnings.recall(memoryview(b"x" + ONE)) is None


def test_what_is_shorter_is_no_beginning() -> None:
    beginnings = Beginnings(64)
    short = memoryview(ONE)[: PREFIX - 1]
    beginnings.note(short, b"1" * 32)
    assert beginnings.recall(short) is None


def test_each_place_has_room_for_four_and_the_oldest_goes() -> None:
    beginnings = Beginnings(1)
    chunks = [noise(PREFIX, number) for number in range(5)]
    for number in (0, 1, 2, 3, 0, 4):  # the first is noted again: then the second is the oldest
        beginnings.note(memoryview(chunks[number]), bytes((number,)) * 32)
    found = [beginnings.recall(memoryview(chunk)) for chunk in chunks]
    assert found == [None if number == 1 else bytes((number,)) * 32 for number in range(5)]


def test_hardly_any_is_lost_while_there_is_room() -> None:
    """Half as many as there is room for."""
    beginnings = Beginnings(1 << 8)
    chunks = [memoryview(noise(PREFIX, number)) for number in range(1 << 9)]
    for number, chunk in enumerate(chunks):
        beginnings.note(chunk, number.to_bytes(32))
    lost = sum(beginnings.recall(chunk) is None for chunk in chunks)
    assert lost < 60  # with places for one each it would be about 110
