"""A lane's connection may have failed a turn of the loop before the lane hears of it: nothing goes there any more."""

import asyncio
import logging
import socket
import ssl
import struct
import time
from pathlib import Path

import pytest
import uvloop

from proxy.net.lane import Lane
from tests.certificates import make
from tests.unit.net.test_lane_certificate import Owner, context

MANY = 20
"""Writes in one turn, as of so many relays that each have something to send."""
LONG = 0.2
"""Seconds: a reset on loopback arrives sooner."""
AT_ONCE = struct.pack("ii", 1, 0)


def reset(listener: socket.socket, theirs: ssl.SSLContext) -> None:
    """One connection, as soon as TLS is up."""
    connection, _ = listener.accept()
    with theirs.wrap_socket(connection, server_side=True) as tls:
        tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)


def work() -> None:
    """While the reset arrives the loop hears of nothing."""
    time.sleep(LONG)


async def written_to(ours: ssl.SSLContext, theirs: ssl.SSLContext) -> list[int]:
    """The room in each turn that a lane had which was reset, and is written to until it hears of that."""
    lane, loop, rooms = Lane(Owner(), dialler=True), asyncio.get_running_loop(), []  # type: ignore[arg-type]

    def turn() -> None:
        for _ in range(MANY):
            lane.write([bytes(100)])
        rooms.append(lane.room())
        if lane.connected:
            loop.call_soon(turn)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        resetting = asyncio.create_task(asyncio.to_thread(reset, listener, theirs))
        await loop.create_connection(lambda: lane, *listener.getsockname(), ssl=ours, server_hostname="west")
        work()
        turn()
        await asyncio.gather(resetting, lane.settled.wait())
    return rooms


def test_a_lane_that_was_reset_takes_nothing_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    east, west = tmp_path / "east", tmp_path / "west"
    make(east, "east")
    make(west, "west")
    ours = context(ssl.PROTOCOL_TLS_CLIENT, east, trusted=west)
    theirs = context(ssl.PROTOCOL_TLS_SERVER, west, trusted=east)
    theirs.verify_mode = ssl.CERT_NONE
    with caplog.at_level(logging.WARNING):
        rooms = uvloop.run(written_to(ours, theirs))
    assert rooms[-1] == 0
    assert not caplog.messages
