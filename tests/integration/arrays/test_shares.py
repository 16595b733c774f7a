"""Rates between real sites: the peer's rate and a forward's maximum hold, and others do not wait for them.

Times are judged from below alone: a cap that holds cannot be quicker, however slow the machine is.
"""

import contextlib
import socket
import threading
import time

import pytest

from proxy.protocol.share import SEGMENT, SEGMENT_OVERHEAD
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect, echo, hears, receipt, send, whole
from tests.integration.bed.sites import Bed, Forward, configure, drain, look_up, run, wire_bytes
from tests.patience import PATIENCE

SIZE = 2 << 20
BULK = 24 << 20
"""What takes the better part of two minutes at the rate that it is given."""
BURST_SECONDS = 0.25
"""What the burst of 50 ms, what is urgent and one frame may come to."""


def test_the_peers_rate_holds(bed: Bed) -> None:
    content = volume("capped", SIZE)
    with Array() as array:
        pair = bed.pair(array.address)
        configure(pair.east, "peer", 'rate = "8Mbit"\n')
        with pair.running():
            begun = time.monotonic()
            sending = send(cut(content, 256 << 10), pair.entrance)
            seconds = time.monotonic() - begun
            whole(receipt(content), sending)
            pair.east.wait_for(lambda: look_up(pair.east.status(), "peers.0.shares.0.held_seconds") > 1, "is held")
            status = pair.east.status()
            wire = wire_bytes(pair.east)
    assert seconds > SIZE / 1e6 - BURST_SECONDS
    peer = status["peers"][0]
    assert peer["rate_bits_per_second"] == 8_000_000
    assert peer["held_seconds"] > 1
    (share,) = peer["shares"]
    assert share["name"] == "forward array"
    assert share["wire_bytes"] == pytest.approx(wire * (1 + SEGMENT_OVERHEAD / SEGMENT), rel=0.03)


def test_an_exports_maximum_holds_for_what_comes_back(bed: Bed) -> None:
    """The far array answers with much data: what west sends on a stream that east opened."""
    content = volume("answer", SIZE)

    with Array(lambda arrival: arrival.connection.sendall(content)) as array:
        pair = bed.pair(array.address)
        configure(pair.west, "export", 'maximum = "8Mbit"\n')
        with pair.running(), connect(pair.entrance) as near:
            begun = time.monotonic()
            hears(near, content)
            seconds = time.monotonic() - begun
            status = pair.west.status()
    assert seconds > SIZE / 1e6 - BURST_SECONDS
    assert look_up(status, "peers.0.shares.0.name") == "export array"
    assert look_up(status, "peers.0.shares.0.maximum_bits_per_second") == 8_000_000


def test_requests_do_not_wait_for_what_bulk_owes(bed: Bed) -> None:
    """Each of bulk's frames owes the better part of a second of the rate: forty requests are answered meanwhile."""
    content = volume("bulk", BULK)

    def pour(bulk: socket.socket) -> None:
        with contextlib.suppress(OSError):  # in the end its site is killed
            bulk.sendall(content)

    with Array() as array, Array(echo) as answering:
        forwards = [Forward("bulk", "west"), Forward("small", "west")]
        east, west = bed.joined(forwards, {"bulk": array.address, "small": answering.address})
        configure(east, "peer", 'rate = "2Mbit"\n')
        run(west, east)
        with connect(forwards[0].address) as bulk, connect(forwards[1].address) as small:
            pouring = threading.Thread(target=pour, args=(bulk,), daemon=True)
            pouring.start()
            array.arrival()
            for number in range(40):
                request = volume(f"request {number}", 512)
                small.sendall(request)
                hears(small, request)
            assert len(array.arrival().data) < BULK
            for site in (east, west):
                site.kill()
            pouring.join()


def test_a_capped_forward_holds_up_no_other(bed: Bed) -> None:
    slow, quick = volume("slow", SIZE), volume("quick", 4 * SIZE)
    with Array() as array:
        forwards = [Forward("slow", "west"), Forward("quick", "west")]
        east, west = bed.joined(forwards, dict.fromkeys(("slow", "quick"), array.address), tunnel={"drain": "1s"})
        configure(east, "forward", 'maximum = "100kbit"\ndscp = "cs1"\n')
        run(west, east)
        with connect(forwards[0].address) as capped:
            capped.settimeout(PATIENCE)
            capped.sendall(slow[: SIZE // 2])
            whole(receipt(quick), send(cut(quick, 256 << 10), forwards[1].address))
            moved = {share["name"]: share["wire_bytes"] for share in look_up(east.status(), "peers.0.shares")}
            assert moved["forward quick"] > 4 * SIZE > SIZE // 2 > moved["forward slow"]
        drain(east, west)
