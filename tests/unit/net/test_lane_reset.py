"""A lane's connection may have ended before the lane hears of it: nothing goes there any more."""

import asyncio
import logging
from pathlib import Path

import pytest
import uvloop

from proxy.net.lane import Lane
from tests.unit.net.dialled import dialled

UNREAD = 64 << 20
"""More than the kernel holds of what is never read."""
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


async def ended_with_much_to_send(directory: Path) -> list[str]:
    """Why the lane is lost, empty while it is not: before the end, some turns after it, and after each of two looks."""
    async with dialled(directory) as found:
        found.lane.write([bytes(UNREAD)])
        found.lane.look()
        reasons = [found.owner.reason]
        found.end()
        for _ in range(MANY):
            await asyncio.sleep(0)
        reasons.append(found.owner.reason)
        for _ in range(2):
            found.lane.look()
            reasons.append(found.owner.reason)
    return reasons


def test_a_lane_that_the_other_side_has_ended_does_not_wait_until_all_is_sent(tmp_path: Path) -> None:
    """It may never be: the line may be out that way, and until then uvloop drops all that is written. The first look
    may come before what came ahead of the end was read."""
    assert uvloop.run(ended_with_much_to_send(tmp_path)) == [*[""] * 3, "the other side closed the connection"]
