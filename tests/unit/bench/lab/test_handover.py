"""Ends of a line come from two containers, in any order, and perhaps before the line."""

import os
import threading
from pathlib import Path

import pytest

from bench.lab.handover import give, listen, take
from bench.wan.errors import WanFailure

ENDS = ("west", "east")


def given(path: Path, end: str, content: bytes) -> None:
    """Hand over a pipe from which that can be read, and wait until the taker has gone."""
    read, write = os.pipe()
    os.write(write, content)
    os.close(write)
    with give(path, end, read) as taker:
        os.close(read)
        taker.recv(1)


def test_devices_arrive_also_from_who_came_before_the_line(site_directory: Path) -> None:
    path = site_directory / "ends"
    threads = [threading.Thread(target=given, args=[path, end, end.encode()], daemon=True) for end in ENDS]
    threads[1].start()
    with listen(path) as listener:
        threads[0].start()
        devices, givers = take(listener, ENDS)
    assert {end: os.read(device, 16) for end, device in devices.items()} == {"west": b"west", "east": b"east"}
    for giver in givers:
        giver.close()
    for device in devices.values():
        os.close(device)
    for thread in threads:
        thread.join(60)


def test_what_is_no_end_is_said(site_directory: Path) -> None:
    path = site_directory / "ends"
    with listen(path) as listener:
        stranger = threading.Thread(target=given, args=[path, "north", b""], daemon=True)
        stranger.start()
        with pytest.raises(WanFailure, match="'north' came with 1 devices; an end is one of west, east"):
            take(listener, ENDS)
    stranger.join(60)
