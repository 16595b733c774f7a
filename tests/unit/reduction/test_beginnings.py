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


def test_the_newer_of_two_in_one_place_stays() -> None:
    beginnings = Beginnings(1)
    beginnings.note(memoryview(ONE), b"1" * 32)
    beginnings.note(memoryview(OTHER), b"2" * 32)
    assert beginnings.recall(memoryview(ONE)) is None
    assert beginnings.recall(memoryview(OTHER)) == b"2" * 32
