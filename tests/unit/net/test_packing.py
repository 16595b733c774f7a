"""Short frames of bulk share packets, and wait for no longer than it takes a fast source to fill one."""

from typing import Any

import pytest

from proxy.net.packing import PACKET, PATIENCE, Packing
from tests.unit.net.loop import Loop


@pytest.fixture
def sent(loop: Any) -> list[float]:
    """When everything was sent."""
    return []


@pytest.fixture
def packing(loop: Loop, sent: list[float]) -> Packing:
    return Packing(lambda: sent.append(loop.time()))


def test_a_packet_that_is_full_goes_at_once(packing: Packing, sent: list[float]) -> None:
    packing.add(PACKET)
    packing.add(100)
    assert sent == [0.0]
    packing.add(PACKET - 100)
    assert sent == [0.0, 0.0]


def test_what_fills_none_waits_a_little_counted_from_the_first(loop: Loop, packing: Packing, sent: list[float]) -> None:
    packing.add(100)
    loop.run(PATIENCE / 2)
    packing.add(100)
    assert sent == []
    loop.run(PATIENCE)
    assert sent == [PATIENCE]
    loop.run(1)
    assert sent == [PATIENCE]


def test_what_waits_goes_when_no_more_will_come(loop: Loop, packing: Packing, sent: list[float]) -> None:
    packing.hurry()
    assert sent == []
    packing.add(100)
    packing.hurry()
    assert sent == [0.0]
    loop.run(1)
    assert sent == [0.0]


def test_an_ended_stream_sends_nothing(loop: Loop, packing: Packing, sent: list[float]) -> None:
    packing.add(100)
    packing.close()
    loop.run(1)
    assert sent == []
