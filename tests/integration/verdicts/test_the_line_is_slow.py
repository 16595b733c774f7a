"""The line limits: it is cut, silent, thin or long. The line is a forwarder of TCP connections (`bed/wire.py`).

A thin forwarder holds the sender up by its TCP window, as a far host would that reads slowly: which of both it is
cannot be seen from here, and the verdict names what it sees. `bench/wan` makes lines whose packets are held up.
"""

import contextlib
import signal
from collections.abc import Iterator

import pytest

from bench.sites import free_port
from tests.integration.bed.ends import Array
from tests.integration.bed.sites import Bed, Pair, Settings, logged, run
from tests.integration.bed.verdicts import discard, limited_by, pouring
from tests.integration.bed.wire import Wire

LONG = 0.05


@contextlib.contextmanager
def poured(bed: Bed, wire: Wire, tunnel: Settings | None = None) -> Iterator[Pair]:
    """A pair over that wire, whose source sends as fast as it can."""
    with Array(discard) as array, wire:
        pair = bed.pair(array.address, tunnel_address=wire.far, dialled=wire.address, tunnel=tunnel)
        run(*pair.sites)
        with pouring(pair.entrance):
            array.arrival()  # of a stream that has not come over the line the far site knows nothing
            yield pair
        bed.close()


def line(*, rate: float = 0.0, delay: float = 0.0) -> Wire:
    return Wire(("127.0.0.1", free_port()), rate=rate, delay=delay)


def test_it_is_cut(bed: Bed) -> None:
    wire = line()
    with poured(bed, wire) as pair:
        wire.refuse()
        wire.cut()
        for site, other in zip(pair.sites, ("west", "east"), strict=True):
            stream = limited_by(site, "outage", words=f"{other} could not be reached for")
            assert stream["waiting_seconds"]["outage"] > 0


@pytest.mark.slow  # silence is noticed after seconds, and has to outweigh what was before it
def test_the_other_site_stands_still(bed: Bed) -> None:
    """Nobody tells: it is noticed by its silence, long before the connection is given up."""
    with poured(bed, line()) as pair:
        pair.west.signal(signal.SIGSTOP)
        limited_by(pair.east, "outage", words="west could not be reached for")


def test_it_is_thin(bed: Bed) -> None:
    with poured(bed, line(rate=2e6)) as pair:
        stream = limited_by(pair.east, "wan rate", "round trip or window")
        waited = stream["waiting_seconds"]
        assert max(waited, key=waited.__getitem__) in ("line", "peer")


@pytest.mark.patient
def test_it_is_long_and_the_window_small(bed: Bed) -> None:
    """That is warned of, once it has lasted."""
    with poured(bed, line(delay=LONG), {"window": "256KiB"}) as pair:
        stream = limited_by(pair.east, "round trip or window", words="window 256 KiB / ")
        assert stream["waiting_seconds"]["window"] > stream["waiting_seconds"]["line"]
        logged(pair.east, "IST-503, peer west: window 256 KiB / ")


def test_it_is_long_and_little_may_be_unacknowledged(bed: Bed) -> None:
    with poured(bed, line(delay=LONG), {"unacked": "1MiB"}) as pair:
        stream = limited_by(pair.east, "round trip or window", words="tunnel.unacked 1 MiB / ")
        assert stream["waiting_seconds"]["unacked"] > 0
