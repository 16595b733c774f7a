"""The ends of `bench.load` notice what the pair could do to a stream beside changing a byte of the volume."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import load
from bench.datasets import Dataset
from bench.processes import Process
from bench.sites import Address
from tests.integration.bench.surplus import Surplus
from tests.integration.iscsi.tap import Tap

SIZE = (1 << 20) + 5
Listener = tuple[Address, Process]


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    file = tmp_path / "volume"
    Dataset("any", SIZE, 38).fill(file)
    return file


@pytest.fixture
def listening(volume: Path) -> Iterator[Listener]:
    with load.sinking(volume) as found:
        yield found


def test_a_byte_too_much_behind_the_last_one(volume: Path, listening: Listener) -> None:
    address, sink = listening
    with Surplus(address, load.HEADING.size + SIZE) as wire:
        assert not load.run(volume, wire.address, sink, load.Shape()).identical
    assert load.run(volume, address, sink, load.Shape()).identical


def test_another_byte_before_the_first_one(volume: Path, listening: Listener) -> None:
    address, sink = listening
    with Tap(address) as tap:
        assert load.run(volume, tap.address, sink, load.Shape(inserted=1)).identical
        tap.ahead.flip(load.HEADING.size)
        assert not load.run(volume, tap.address, sink, load.Shape(inserted=1)).identical
        assert tap.ahead.flipped
