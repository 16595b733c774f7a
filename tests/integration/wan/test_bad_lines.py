"""Lines that lose, reorder, repeat and swallow: what one array sends is what the other receives, both ways at once.

(Rows 1 and 7 of the faults that Isthmus must survive. What such lines carry is measured by `make bench-wan`.)
"""

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bench.sites import Address
from bench.wan import Line, Wan
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Sending, receipt, send, whole
from tests.integration.bed.lines import array_at, line_or_skip, pair_over
from tests.integration.bed.sites import Bed, alarm, eventually, lanes_of, logged

pytestmark = pytest.mark.root

SHORT = 1280
"""Bytes of a packet that passes any path (RFC 8200, section 5)."""

LINES: dict[str, dict[str, str]] = {
    "short and lossy": {"rate": "100Mbit", "delay": "5ms", "loss": "5%"},
    "long": {"rate": "100Mbit", "delay": "150ms", "loss": "0.1%"},
    "losses in bursts": {"rate": "100Mbit", "delay": "20ms", "loss": "1%", "burst": "10"},
    "out of order": {"rate": "100Mbit", "delay": "20ms", "reorder": "5%"},
    "twice": {"rate": "100Mbit", "delay": "20ms", "duplicate": "5%"},
    "everything": {
        "rate": "50Mbit",
        "delay": "30ms",
        "jitter": "10ms",
        "loss": "2%",
        "burst": "3",
        "reorder": "2%",
        "duplicate": "2%",
    },
}


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("settings", LINES.values(), ids=LINES.keys())
def test_a_bad_line(bed: Bed, settings: Any, lanes: int) -> None:
    with (
        line_or_skip(Line.of(**settings)) as wan,
        array_at(wan, "west") as far,
        array_at(wan, "east") as near,
        pair_over(bed, wan, far.address, near.address, tunnel={"lanes": lanes}).running() as pair,
    ):
        there, back = volume("there", 3 << 20), volume("back", 2 << 20)
        with ThreadPoolExecutor() as threads:
            ways = [
                threads.submit(transfer, wan, "east", there, pair.entrance),
                threads.submit(transfer, wan, "west", back, pair.back),
            ]
        for way, content, array in zip(ways, (there, back), (far, near), strict=True):
            whole(receipt(content), way.result())
            whole(content, array.arrival().wait())


@pytest.mark.patient
def test_a_path_that_swallows_long_packets(bed: Bed) -> None:
    """Nobody tells: the site finds out by itself, uses short packets, and says so until a reload finds it mended."""
    content = volume("in short packets", 2 << 20)
    with (
        line_or_skip(rate="100Mbit", delay="5ms", path_mtu="1280B") as wan,
        array_at(wan, "west") as array,
        pair_over(bed, wan, array.address, tunnel={"connect_timeout": "2s"}).running() as pair,
    ):
        with wan.inside("east"):
            sending = send(cut(content, 64 << 10), pair.entrance)
        whole(receipt(content), sending)
        alarm(pair.east, "packets of full size to west are lost")
        logged(pair.east, "IST-110, packets of full size to west are lost")
        wan.set(path_mtu="1500B")
        pair.east.signal(signal.SIGHUP)
        eventually(pair.east, "alarms", [])
        pair.east.wait_for(
            lambda: all(lane["segment_bytes"] > SHORT for lane in lanes_of(pair.east)), "still sends short packets"
        )


def transfer(wan: Wan, end: str, content: bytes, to: Address) -> Sending:
    """By the array at that end."""
    with wan.inside(end):
        return send(cut(content, 32 << 10), to)
