"""What must not disturb those who replicate over a line: new certificates, a crowd at the door, a stream that is stuck.

(Rows 29, 30 and 32 of the faults that Isthmus must survive.)
"""

import contextlib
import signal
import socket
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.sites import Address
from bench.wan import Wan
from tests.certificates import make
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import held, receipt, unless_marked, whole
from tests.integration.bed.lines import WRITE, array_at, line_or_skip, pair_over, sent_from_east
from tests.integration.bed.passes import replicate
from tests.integration.bed.sites import Bed, alarm, descriptors, drain, eventually, logged, run
from tests.integration.peers.stage import listening, says
from tests.patience import PATIENCE

pytestmark = pytest.mark.root

CROWD, COMPANIES = 5000, 4
"""How many come, and how many of them connect at a time."""
WAITING = 400
"""How many of them are there at a time: more than may wait before the door, so that it has to send some away."""
BUSY, BUSY_SIZE = 31, 256 << 10
STUCK_SIZE = 12 << 20
"""Much more than the window and the kernels' buffers take."""


@contextlib.contextmanager
def crowd(wan: Wan, address: Address) -> Iterator[None]:
    """Until the block is over and all have come they connect, from east's end, and stay until they are sent away."""
    over = threading.Event()

    def come() -> None:
        there = deque[socket.socket]()
        number = 0
        with wan.inside("east"), contextlib.ExitStack() as leaving:
            while number < CROWD // COMPANIES or not over.is_set():
                there.append(leaving.enter_context(socket.create_connection(address, PATIENCE)))
                number += 1
                if len(there) > WAITING // COMPANIES:
                    sent_away(there.popleft())

    with ThreadPoolExecutor(COMPANIES) as threads:
        coming = [threads.submit(come) for _ in range(COMPANIES)]
        try:
            yield
        finally:
            over.set()
        for company in coming:
            company.result()


def sent_away(connection: socket.socket) -> None:
    """It says nothing until the other side ends it."""
    with connection, contextlib.suppress(ConnectionError):
        while connection.recv(1 << 10):
            pass


def test_certificates_are_replaced_under_load(bed: Bed) -> None:
    """First by a new one, whose lane comes up while the stream waits; then by one that is broken, which changes nothing
    but for an alarm."""
    content = volume("under load", 8 << 20)
    replaced = threading.Event()
    halfway = held(len(content) // WRITE // 2, replaced)

    with line_or_skip(rate="45Mbit", delay="20ms", loss="0.1%") as wan, array_at(wan, "west") as array:
        pair = pair_over(bed, wan, array.address)
        run(*pair.sites)
        with ThreadPoolExecutor() as threads:
            sending = threads.submit(sent_from_east, wan, pair, content, halfway)
            array.arrival()
            make(bed.directory / "east", "east")
            for site in pair.sites:
                site.signal(signal.SIGHUP)
                says(site, "read anew")
            says(pair.west, "the certificate of this lane is no longer trusted")
            for site in pair.sites:
                logged(site, "resumed")
            (bed.directory / "east.crt").write_text("not PEM")
            for site in pair.sites:
                site.signal(signal.SIGHUP)
                alarm(site, "the old ones stay in use")
            replaced.set()
            whole(receipt(content), sending.result())
        for site in pair.sites:
            eventually(site, "peers.0.ended_streams", {"both arrays ended it": 1})
        drain(*pair.sites)


@pytest.mark.slow
def test_a_real_peer_gets_in_through_a_crowd(bed: Bed) -> None:
    """Five thousand that say nothing come and come, while east starts and replicates; nothing is left of them."""
    with line_or_skip(rate="100Mbit", delay="2ms") as wan, array_at(wan, "west") as array:
        pair = pair_over(bed, wan, array.address)
        pair.west.start()
        pair.west.wait_ready()
        before = descriptors(pair.west)
        with crowd(wan, listening(pair.west)):
            logged(pair.west, "wait before the door")
            pair.east.start()
            pair.east.wait_ready()
            pair.east.wait_up()
            with wan.inside("east"):
                replicate(pair, volume("in spite of them", 1 << 20))
        pair.west.wait_for(lambda: descriptors(pair.west) <= before + 8, "still has their descriptors")
        assert pair.west.status()["refused"] >= CROWD - WAITING, "they must have come as far as the door"
        with wan.inside("east"):
            replicate(pair, volume("after them", 1 << 20))
        drain(*pair.sites)


def test_a_stuck_stream_beside_thirty_one(bed: Bed) -> None:
    """They finish while its far array reads nothing, and then it does, too."""
    released = threading.Event()

    settings = {"window": "4MiB", "memory": "16MiB", "unacked": "8MiB"}
    stuck_content = b"!" + volume("stuck", STUCK_SIZE)
    others = [b"." + volume(f"busy {number}", BUSY_SIZE) for number in range(BUSY)]
    with (
        line_or_skip(rate="200Mbit", delay="5ms", loss="0.1%") as wan,
        array_at(wan, "west", unless_marked(released), receive_buffer=64 << 10) as array,
        pair_over(bed, wan, array.address, tunnel=settings).running() as pair,
        ThreadPoolExecutor(BUSY + 1) as threads,
    ):
        stuck = threads.submit(sent_from_east, wan, pair, stuck_content)
        try:
            array.arrival(0)
            results = list(threads.map(lambda content: sent_from_east(wan, pair, content), others))
            for content, result in zip(others, results, strict=True):
                whole(receipt(content), result)
            assert not stuck.done()
            eventually(pair.east, "peers.0.ended_streams", {"both arrays ended it": BUSY})
        finally:
            released.set()
        whole(receipt(stuck_content), stuck.result())
