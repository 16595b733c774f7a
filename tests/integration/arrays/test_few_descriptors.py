"""A site to which more connections are made than it may have: what it has goes on, also after an outage."""

import resource
import socket
from contextlib import ExitStack, suppress

import psutil
import pytest

from bench.sites import Address, Site, free_port
from tests.integration.bed.ends import Array, echo, hears
from tests.integration.bed.sites import Bed, descriptors, eventually, logged
from tests.integration.bed.wire import Wire
from tests.patience import PATIENCE

ROOM = 40
"""Descriptors that the site may still have when its tunnel is up."""
OVERDUE = 5.0
"""Seconds, half of those for which a stranger is waited for."""


@pytest.mark.parametrize("name", ["east", "west"])
def test_streams_leave_lanes_the_descriptors_that_they_need(bed: Bed, name: str) -> None:
    """They took all: after an outage there was none for a lane, until the grace of all streams was over; and nobody
    could ask the site why."""
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array(echo) as far:
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address)
        site = pair.east if name == "east" else pair.west
        with pair.running(), ExitStack() as arrays:
            limit(site)
            array = arrays.enter_context(call(pair.entrance))
            array.sendall(b"before")
            hears(array, b"before")
            crowd(arrays, pair.entrance, 2 * ROOM)
            logged(site, "few file descriptors are left" if name == "east" else "Too many open files")
            wire.refuse()
            wire.cut()
            for each in pair.sites:
                eventually(each, "peers.0.state", "outage")
            crowd(arrays, pair.entrance, ROOM)
            if site is pair.east:  # otherwise they would get what the lane has left
                with pytest.raises(ConnectionResetError):
                    arrays.enter_context(call(pair.entrance)).recv(1)
            wire.accept()
            array.sendall(b"after")
            hears(array, b"after")


def test_visitors_and_strangers_leave_lanes_the_descriptors_that_they_need(bed: Bed) -> None:
    """They took all that arrays had left, each for as long as it may stay without a word, and others followed them."""
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array(echo) as far:
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address)
        west, status = pair.west, ("127.0.0.1", pair.west.status_port)
        with pair.running(), ExitStack() as opened:
            most = limit(west)
            array = opened.enter_context(call(pair.entrance))
            array.sendall(b"before")
            hears(array, b"before")
            for address, told in (pair.entrance, "Too many open files"), (status, ""), (tunnel, "before the door"):
                crowd(opened, address, 2 * ROOM)
                logged(west, told)
            west.wait_for(lambda: descriptors(west) < most, "has none left", OVERDUE)
            wire.cut()
            eventually(west, "peers.0.resumed", 1)
            array.sendall(b"after")
            hears(array, b"after")


def limit(site: Site) -> int:
    """It may have `ROOM` descriptors more than it has. Returns how many that are."""
    process, few = psutil.Process(site.pid), descriptors(site) + ROOM
    _, most = process.rlimit(resource.RLIMIT_NOFILE)
    process.rlimit(resource.RLIMIT_NOFILE, (few, most))
    return few


def call(entrance: Address) -> socket.socket:
    return socket.create_connection(entrance, PATIENCE)


def crowd(opened: ExitStack, entrance: Address, count: int) -> None:
    """So many connections, of which those that are too many are reset, some even before they are used."""
    for _ in range(count):
        with suppress(ConnectionResetError):
            opened.enter_context(call(entrance))
