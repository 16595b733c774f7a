"""Bytes for arrays to send: random ones, the same for the same name, at gigabytes a second."""

from collections.abc import Iterator
from random import Random

from blake3 import blake3


def volume(name: str, size: int) -> bytes:
    """`size` bytes that do not compress and have nothing in common with any other name's."""
    return blake3(name.encode()).digest(length=size)


def cut(content: bytes, size: int) -> Iterator[memoryview]:
    """The content in writes of `size`, the last one shorter."""
    view = memoryview(content)
    return (view[at : at + size] for at in range(0, len(view), size))


def cut_at_random(content: bytes, largest: int, seed: int = 0) -> Iterator[memoryview]:
    """The content in writes of 1 to `largest` bytes."""
    draw, view, at = Random(seed), memoryview(content), 0
    while at < len(view):
        size = draw.randint(1, largest)
        yield view[at : at + size]
        at += size
