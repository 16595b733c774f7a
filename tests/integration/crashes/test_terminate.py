"""SIGTERM: a site accepts nothing more, lets live streams end until the deadline, resets the rest, and exits with 0.

Both arrays of a stream that was cut see a reset, both logs say why.
"""

import json
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from bench.sites import Address, Site, free_port
from proxy.history.reading import read_events
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import (
    END,
    Array,
    Arrival,
    connect,
    how_it_ends,
    receipt,
    send,
    swallow,
    torn,
    whole,
)
from tests.integration.bed.sites import Bed, Pair, eventually, logged, look_up, run
from tests.integration.bed.wire import Wire
from tests.patience import PATIENCE

HALF = 2 << 20
content = partial(volume, "content", 2 * HALF)
SMALL = 4096
EITHER = pytest.mark.parametrize("ending", ["east", "west"])


@pytest.mark.parametrize("ending", [pytest.param(name, marks=pytest.mark.typed(name)) for name in ("east", "west")])
def test_a_stream_that_ends_in_time(bed: Bed, ending: str) -> None:
    """It completes, though the other array's new connections are refused already."""
    with Array() as array:
        pair = bed.pair(array.address, tunnel={"drain": "30s"})
        run(*pair.sites)
        site = getattr(pair, ending)
        with connect(pair.entrance) as near:
            near.sendall(content()[:HALF])
            array.arrival()
            site.signal(signal.SIGTERM)
            eventually(site, "draining", wanted=True)
            check_refused(pair.entrance)
            near.sendall(content()[HALF:])
            near.shutdown(socket.SHUT_WR)
            whole(receipt(content()), how_it_ends(near))
        assert site.stop() == 0
        assert array.arrival().wait().ended == END


@EITHER
def test_a_stream_that_does_not(bed: Bed, ending: str) -> None:
    """At the deadline it is reset, at both ends and with the reason."""
    with Array(swallow) as array:
        pair = bed.pair(array.address, tunnel={"drain": "1s"})
        run(*pair.sites)
        site = getattr(pair, ending)
        (other,) = {*pair.sites} - {site}
        with connect(pair.entrance) as near:
            near.sendall(content())
            array.arrival()
            assert site.stop() == 0
            torn(b"", how_it_ends(near))
        arrival = array.arrival().wait()
        torn(content(), arrival)
        for each in pair.sites:
            logged(each, "ended: ")
            assert "the site shuts down" in line_with(each.log.read_text(), "ended: ")
        eventually(other, "peers.0.tunnel_resets", wanted=1)
        other.wait_for(lambda: "IST-104" in told(other), "does not tell of the lost stream")
        (lost,) = (event["words"] for event in events(other) if event["code"] == "IST-104")
        assert lost == f"the streams with {site.name} were reset, because it ended in order"


@EITHER
def test_the_other_site_tells_of_no_lost_streams_where_there_was_none(bed: Bed, ending: str) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        run(*pair.sites)
        first, other = sorted(pair.sites, key=lambda site: site.name != ending)
        assert first.stop() == 0
        eventually(other, "peers.0.shutdowns", wanted=1)
        eventually(other, "peers.0.lanes", wanted=[])
        other.wait_for(lambda: "IST-115" in told(other), "does not tell of the peer's end")
        now = other.status()["peers"][0]
        assert (now["outages"], now["tunnel_resets"]) == (1, 0)
        assert now["ended_seconds"] is not None
        assert not {"IST-102", "IST-104"} & {*told(other)}
        logged(other, f"peer {first.name} has ended in order: the site shuts down")
        for site in pair.sites:
            assert "is gone" not in site.log.read_text()  # a lane that is lost is a warning
        run(first)
        eventually(other, "peers.0.ended_seconds", wanted=None)


def told(site: Site) -> list[str]:
    """Codes of its events."""
    return [event["code"] for event in events(site)]


def events(site: Site) -> list[dict[str, Any]]:
    _, body = site.get("/api/v1/events")
    found: list[dict[str, Any]] = json.loads(body)["events"]
    return found


def test_the_last_bytes_for_a_slow_array(bed: Bed) -> None:
    """Both arrays have ended their sides, but one has still to read what the site holds for it: it gets it all."""
    much = volume("more than the kernel takes", kernel_takes() + (128 << 10))
    released = threading.Event()

    def read_late(arrival: Arrival) -> None:
        arrival.connection.shutdown(socket.SHUT_WR)
        released.wait(PATIENCE)
        swallow(arrival)

    with Array(read_late, receive_buffer=SMALL) as array:
        pair = bed.pair(array.address)
        run(*pair.sites)
        with connect(pair.entrance) as near:
            near.sendall(much)
            near.shutdown(socket.SHUT_WR)
            whole(b"", how_it_ends(near))
        eventually(pair.west, "streams", [])  # what is left is for the array's socket alone
        pair.west.signal(signal.SIGTERM)
        eventually(pair.west, "draining", wanted=True)
        released.set()
        arrival = array.arrival().wait()
        whole(much, arrival)
        assert pair.west.stop() == 0


@contextmanager
def waiting_to_drain(bed: Bed) -> Iterator[tuple[Pair, Array, socket.socket]]:
    """West drains, for an hour if nobody ends that, while a stream lives; it has to end in order."""
    with Array(swallow) as array:
        pair = bed.pair(array.address, tunnel={"drain": "1h"})
        run(*pair.sites)
        with connect(pair.entrance) as near:
            near.sendall(content())
            array.arrival()
            pair.west.signal(signal.SIGTERM)
            eventually(pair.west, "draining", wanted=True)
            yield pair, array, near
        assert pair.west.stop() == 0


def interrupted(pair: Pair, near: socket.socket) -> None:
    """It has waited up to now, and does not any more."""
    assert look_up(pair.west.status(), "streams")
    pair.west.signal(signal.SIGINT)
    torn(b"", how_it_ends(near))


@pytest.mark.typed("west")
def test_an_interrupt_ends_the_wait(bed: Bed) -> None:
    """A second SIGTERM does not: whoever sends it may not know of the first."""
    with waiting_to_drain(bed) as (pair, array, near):
        pair.west.signal(signal.SIGTERM)
        eventually(pair.west, "draining", wanted=True)
        interrupted(pair, near)
        torn(content(), array.arrival().wait())
    assert "the site shuts down" in line_with(pair.west.log.read_text(), "ended: ")


def test_certificates_are_read_anew_while_it_drains(bed: Bed) -> None:
    """What lives then may need a lane with a new one, or has to lose that of a peer that is trusted no more."""
    with waiting_to_drain(bed) as (pair, _, near):
        pair.west.signal(signal.SIGHUP)
        pair.west.wait_for(lambda: "IST-205" in told(pair.west), "does not read them")
        interrupted(pair, near)


@pytest.mark.typed("east", "west")
def test_an_end_in_order_is_told_afterwards(bed: Bed) -> None:
    """However short: without streams it takes no second, and looked like a crash among the events."""
    pair = bed.pair(("127.0.0.1", free_port()))
    run(*pair.sites)
    for site in pair.sites:
        assert site.stop() == 0
        kept = read_events(site.config.with_name(f"{site.name}-history.db"), site.name, 100)
        assert [event.code for event in kept].count("IST-402") == 1


@pytest.mark.typed("west")
def test_an_impatient_operator(bed: Bed) -> None:
    """However often the signal comes, the site ends in order, also while the interpreter takes itself down."""
    with Array() as array:
        pair = bed.pair(array.address)
        run(*pair.sites)
        while pair.west.running:
            pair.west.signal(signal.SIGTERM)
            pair.west.signal(signal.SIGINT)
        assert pair.west.stop() == 0


def test_the_peer_of_a_site_that_has_gone(bed: Bed) -> None:
    """It refuses its arrays at once, and serves them again when the other site is back."""
    with Array() as array:
        pair = bed.pair(array.address)
        run(*pair.sites)
        assert pair.west.stop() == 0
        check_refused(pair.entrance)
        pair.west.start()
        pair.east.wait_up()
        with connect(pair.entrance) as near:
            near.sendall(content())
            near.shutdown(socket.SHUT_WR)
            whole(receipt(content()), how_it_ends(near))
        assert look_up(pair.east.status(), "peers.0.state") == "up"


def kernel_takes() -> int:
    """Bytes that can be written to an array that does not read."""

    def never_read(arrival: Arrival) -> None:
        arrival.over.wait()

    with Array(never_read, receive_buffer=SMALL) as array, connect(array.address) as near:
        near.setblocking(False)
        taken = 0
        with suppress(BlockingIOError):
            while True:
                taken += near.send(bytes(64 << 10))
        array.arrival().over.set()
        return taken


def check_refused(entrance: Address) -> None:
    """Connecting is refused, or what was accepted is reset."""
    with suppress(ConnectionError), connect(entrance) as near:
        torn(b"", how_it_ends(near))


def line_with(text: str, words: str) -> str:
    return next(line for line in text.splitlines() if words in line)


def test_the_last_word_on_a_slow_line(bed: Bed) -> None:
    """Much is still under way to the other site when the deadline comes: it hears why its stream ends, and at once."""
    much = volume("more than lines hold", 64 << 20)
    door = ("127.0.0.1", free_port())
    with Array() as array, Wire(door) as wire, ThreadPoolExecutor() as threads:
        pair = bed.pair(array.address, tunnel_address=door, dialled=wire.address, tunnel={"drain": "1s"})
        run(*pair.sites)
        sending = threads.submit(send, cut(much, 1 << 18), pair.entrance, lambda n: wire.stall() if n == 80 else None)
        pair.east.wait_for(lambda: not wire.flowing, "has sent enough")
        pair.east.signal(signal.SIGTERM)
        logged(pair.east, "the tunnel with west is over: the site shuts down")
        wire.flow()
        arrival = array.arrival().wait()
        torn(much, arrival)
        torn(b"", sending.result())
        logged(pair.west, "peer east has ended in order: the site shuts down")
        assert pair.east.stop() == 0


def test_without_a_line(bed: Bed) -> None:
    """Nothing can be delivered any more: the deadline holds all the same."""
    door = ("127.0.0.1", free_port())
    with Array() as array, Wire(door) as wire:
        pair = bed.pair(array.address, tunnel_address=door, dialled=wire.address, tunnel={"drain": "1s"})
        run(*pair.sites)
        with connect(pair.entrance) as near:
            near.sendall(content()[:HALF])
            array.arrival()
            wire.refuse()
            wire.cut()
            eventually(pair.east, "peers.0.state", "outage")
            assert pair.east.stop() == 0
            torn(b"", how_it_ends(near))
        assert pair.west.stop() == 0
        torn(content()[:HALF], array.arrival().wait())
