"""Black holes of all kinds between sites: a pause for the arrays or, beyond the grace time, a reset with the reason.

(Rows 2 to 6, 8 and 12 of the faults that Isthmus must survive.)
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from bench.sites import Site
from bench.wan import Wan
from tests.integration.bed.answering import answering
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import (
    OPEN,
    Array,
    Sending,
    connect,
    echo,
    hears,
    how_it_ends,
    receipt,
    send,
    torn,
    whole,
)
from tests.integration.bed.lines import array_at, line_or_skip, pair_over, sent_from_east
from tests.integration.bed.sites import Bed, Pair, Settings, descriptors, ends, eventually, lanes_of, look_up, resident
from tests.patience import PATIENCE, until

pytestmark = [pytest.mark.root, pytest.mark.patient]

content = partial(volume, "through outages", 16 << 20)
FLAPS = 100
OUT_SECONDS = 0.2
"""And until a new lane has brought what was sent meanwhile, for which an attempt that begins then may need a second."""
STOPPED_SECONDS, STOPPED_A_WHILE = 60.0, 6.0
SHIPPED: Settings = {}
QUICK: Settings = {"keepalive": "1s", "dead_after": "5s"}


@contextlib.contextmanager
def sending(wan: Wan, pair: Pair) -> Iterator[Future[Sending]]:
    """East's array sends meanwhile."""
    with ThreadPoolExecutor() as threads:
        yield threads.submit(sent_from_east, wan, pair, content(), patience=2 * STOPPED_SECONDS)


@contextlib.contextmanager
def near_array(wan: Wan, pair: Pair) -> Iterator[socket.socket]:
    """A connection of east's array."""
    with wan.inside("east"):
        near = connect(pair.entrance)
    with near:
        yield near


def wait_for_bytes(array: Array, count: int) -> None:
    """Wait until so much has come."""
    arrival = array.arrival()
    until(lambda: len(arrival.data) >= count, f"{count} bytes have not come")


@pytest.mark.parametrize("seconds", [5, 30])
def test_a_black_hole(bed: Bed, seconds: int) -> None:
    """The arrays see a pause; no byte is lost, none comes twice."""
    with (
        line_or_skip(rate="45Mbit", delay="20ms", loss="0.1%") as wan,
        array_at(wan, "west") as array,
        pair_over(bed, wan, array.address).running() as pair,
    ):
        with sending(wan, pair) as found:
            wait_for_bytes(array, 4 << 20)
            wan.outage(True)
            time.sleep(seconds)
            assert array.arrival().ended == OPEN
            wan.outage(False)
        whole(receipt(content()), found.result())
        whole(content(), array.arrival().wait())
        eventually(pair.east, "peers.0.ended_streams", {"both arrays ended it": 1})  # once that has come back


@pytest.mark.parametrize(("toward", "tunnel"), [("both", SHIPPED), ("west", QUICK), ("east", QUICK)])
def test_a_black_hole_longer_than_the_grace_time(bed: Bed, toward: str, tunnel: Settings) -> None:
    """Of both ways or of one: found out by the silence, and both arrays are reset when the grace time is over."""
    with (
        line_or_skip(rate="45Mbit", delay="20ms") as wan,
        array_at(wan, "west", echo) as array,
        pair_over(bed, wan, array.address, tunnel={"grace": "4s", **tunnel}).running() as pair,
        near_array(wan, pair) as near,
    ):
        near.sendall(b"before")
        hears(near, b"before")
        wan.outage(True, toward=toward)
        for site in pair.sites:
            eventually(site, "peers.0.lanes", [])
        torn(b"", how_it_ends(near))
        torn(b"before", array.arrival().wait())
        for site in pair.sites:
            eventually(site, "streams", [])
            assert any("there was no lane" in reason and "grace" in reason for reason in ends(site))
        wan.outage(False)
        pair.east.wait_up()
        with wan.inside("east"):
            whole(b"after", send([b"after"], pair.entrance))


def test_a_peer_that_vanishes_without_a_word_and_comes_back_as_another(bed: Bed) -> None:
    """Its machine dies in an outage: nothing tells its end. What it acknowledged and lost is lost, and said: reset."""
    with (
        line_or_skip(rate="45Mbit", delay="20ms") as wan,
        array_at(wan, "west", echo) as array,
        pair_over(bed, wan, array.address).running() as pair,
        near_array(wan, pair) as near,
    ):
        near.sendall(b"before")
        hears(near, b"before")
        wan.outage(True)
        pair.west.kill()
        torn(b"before", array.arrival().wait())
        pair.west.start()
        pair.west.wait_ready()
        wan.outage(False)
        torn(b"", how_it_ends(near))
        assert any("has lost its side" in reason for reason in ends(pair.east))
        pair.east.wait_up()


@pytest.mark.timeout(600)
def test_a_link_that_flaps(bed: Bed) -> None:
    """A hundred times, and no lane survives it, with a stream open and bytes on it: nothing is lost, nothing grows."""
    skip_without_destroying()
    with (
        line_or_skip(rate="45Mbit", delay="20ms") as wan,
        array_at(wan, "west", echo) as array,
        pair_over(bed, wan, array.address).running() as pair,
        near_array(wan, pair) as near,
    ):
        numbers = [number.to_bytes(8, "big") for number in range(FLAPS + 2)]
        exchange(near, numbers[0])
        for site in pair.sites:
            site.wait_prepared(PATIENCE)
        before = [(descriptors(site), resident(site)) for site in pair.sites]
        door = port_of(lanes_of(pair.east)[0])
        for number in numbers[1:-1]:
            wan.outage(True)
            kill_lanes(wan, door)
            near.sendall(number)
            time.sleep(OUT_SECONDS)
            wan.outage(False)
            hears(near, number)
        exchange(near, numbers[-1])
        near.shutdown(socket.SHUT_WR)
        whole(b"", how_it_ends(near))
        whole(b"".join(numbers), array.arrival().wait())
        for site, (files, memory) in zip(pair.sites, before, strict=True):
            eventually(site, "streams", [])
            for counted in ("outages", "resumed"):
                assert look_up(site.status(), f"peers.0.{counted}") >= 0.9 * FLAPS
            assert descriptors(site) <= files + 20
            assert resident(site) <= memory + (32 << 20)


@pytest.mark.timeout(480)
@pytest.mark.parametrize(
    ("victims", "seconds", "tunnel"),
    [
        (["west"], STOPPED_SECONDS, SHIPPED),
        (["east"], STOPPED_A_WHILE, QUICK),
        (["east", "west"], STOPPED_A_WHILE, QUICK),
    ],
    ids=["west", "east", "both"],
)
def test_a_process_that_is_stopped(bed: Bed, victims: list[str], seconds: float, tunnel: Settings) -> None:
    """SIGSTOP, then SIGCONT: an outage like others, during which the other site goes on answering."""
    with (
        line_or_skip(rate="45Mbit", delay="20ms") as wan,
        array_at(wan, "west") as array,
        pair_over(bed, wan, array.address, tunnel={"grace": "120s", **tunnel}).running() as pair,
    ):
        stopped = [getattr(pair, name) for name in victims]
        others = [site for site in pair.sites if site not in stopped]
        with sending(wan, pair) as found:
            wait_for_bytes(array, 4 << 20)
            with answering(*others), standing(*stopped):
                time.sleep(seconds)
                for site in others:
                    eventually(site, "peers.0.state", "outage")
        whole(receipt(content()), found.result())
        whole(content(), array.arrival().wait())


def test_a_lane_of_several_dies(bed: Bed) -> None:
    """Its frames go by the others, exactly once, and it is replaced."""
    skip_without_destroying()
    with (
        line_or_skip(rate="45Mbit", delay="20ms", loss="0.5%") as wan,
        array_at(wan, "west") as array,
        pair_over(bed, wan, array.address, tunnel={"lanes": 4}).running() as pair,
    ):
        pair.east.wait_for(lambda: lanes(pair.east) == 4, "has no four lanes")
        with sending(wan, pair) as found:
            for wanted in range(2, 16, 3):
                wait_for_bytes(array, wanted << 20)
                kill_lane(wan, pair)
        whole(receipt(content()), found.result())
        whole(content(), array.arrival().wait())
        pair.east.wait_for(lambda: lanes(pair.east) == 4, "has no four lanes again")
        assert pair.east.status()["peers"][0]["outages"] == 0


def exchange(near: socket.socket, words: bytes) -> None:
    near.sendall(words)
    hears(near, words)


def lanes(site: Site) -> int:
    return len(lanes_of(site))


@contextlib.contextmanager
def standing(*sites: Site) -> Iterator[None]:
    """The sites' processes are stopped meanwhile."""
    for site in sites:
        os.kill(site.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for site in sites:
            os.kill(site.pid, signal.SIGCONT)


def kill_lane(wan: Wan, pair: Pair) -> None:
    """The connection of one that is up, by the kernel's hand; wait until the site that is told by the line knows."""
    lane = lanes_of(pair.west)[0]
    destroy(f"sport = :{port_of(lane)}", *wan.command("east"))
    pair.west.wait_for(lambda: lane["number"] not in numbers(pair.west), "still has the lane")


def kill_lanes(wan: Wan, door: str) -> None:
    """The connections of all lanes to that port, at both ends: each site sees it also while nothing comes through."""
    for end, where in (("east", "dport"), ("west", "sport")):
        destroy(f"{where} = :{door}", *wan.command(end))


def destroy(filter_: str, *prefix: str) -> None:
    """End connections of the host as if the other side had: nothing is said to it if nothing comes through."""
    subprocess.run([*prefix, "ss", "-KHtn", f"( {filter_} )"], capture_output=True, check=True)


def skip_without_destroying() -> None:
    """A kernel without CONFIG_INET_DIAG_DESTROY lets `ss -K` do nothing."""
    if shutil.which("ss") is None:
        pytest.skip("needs ss")
    with Array() as array, connect(array.address) as victim:
        destroy(f"sport = :{victim.getsockname()[1]}")
        victim.setblocking(False)
        try:
            victim.recv(1)
        except BlockingIOError:
            pytest.skip("the kernel does not let `ss -K` end connections")
        except OSError:
            return


def numbers(site: Site) -> set[int]:
    return {lane["number"] for lane in lanes_of(site)}


def port_of(lane: dict[str, Any]) -> str:
    """Where the other end of its connection is."""
    return str(lane["remote"].rpartition(":")[2])
