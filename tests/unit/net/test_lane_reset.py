"""A lane's connection may have failed a turn of the loop before the lane hears of it: nothing goes there any more."""

import asyncio
import logging
from pathlib import Path

import pytest
import uvloop

from proxy.net.lane import Lane
from tests.unit.net.dialled import dialled

MANY = 20
"""Writes in one turn, as of so many relays that each have something to send."""


async def written_to(directory: Path) -> list[int]:
    """The room in each turn that a lane had which was reset, and is written to until it hears of that."""
    loop, rooms = asyncio.get_running_loop(), list[int]()

    def turn(lane: Lane) -> None:
        for _ in range(MANY):
            lane.write([bytes(100)])
        rooms.append(lane.room())
        if lane.connected:
            loop.call_soon(turn, lane)

    async with dialled(directory) as found:
        found.reset()
        turn(found.lane)
    return rooms


def test_a_lane_that_was_reset_takes_nothing_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        rooms = uvloop.run(written_to(tmp_path))
    assert rooms[-1] == 0
    assert not caplog.messages
