"""The WAN between the sites breaks in the middle of transfers and comes back: the arrays notice nothing but a pause.

The line is a forwarder of TCP connections (`bed/wire.py`) that can be cut, refuse, and swallow. No connection of an
array is reset, and every byte arrives, once.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

from bench.sites import free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed, eventually, logged, look_up
from tests.integration.bed.wire import Wire

SIZE = 24 << 20
WRITE = 64 << 10
WRITES = SIZE // WRITE
PATIENT = {"reconnect_max": "200ms"}
"""Only what is cut ends a lane, not silence: the machine may stand still."""
QUICK = {"keepalive": "200ms", "dead_after": "1s", "connect_timeout": "3s", **PATIENT}


def test_cut_again_and_again(bed: Bed) -> None:
    """Transfers run both ways; each cut resets the tunnel's connection under both."""
    ahead, back = volume("ahead", SIZE), volume("back", SIZE)
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array() as far, Array() as near, ThreadPoolExecutor() as threads:
        pair = bed.pair(far.address, near.address, tunnel_address=tunnel, dialled=wire.address, tunnel=PATIENT)
        with pair.running():
            cutting = count(1)

            def strike(number: int) -> None:
                if number % (WRITES // 8) == 5:
                    next(cutting)
                    wire.cut()

            returning = threads.submit(send, cut(back, WRITE), pair.back)
            sending = send(cut(ahead, WRITE), pair.entrance, strike)
            whole(receipt(ahead), sending)
            whole(receipt(back), returning.result())
            cuts = next(cutting) - 1
            assert cuts == 8
            assert 2 <= look_up(pair.east.status(), "peers.0.outages") <= cuts
            assert wire.taken > 2


def test_refused_for_a_while(bed: Bed) -> None:
    """The line is cut and nobody answers: the sites say so, go on trying, and resume."""
    content = volume("content", SIZE)
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array() as far, ThreadPoolExecutor() as threads:
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address, tunnel=QUICK)
        with pair.running():

            def strike(number: int) -> None:
                if number == WRITES // 2:
                    wire.refuse()
                    wire.cut()

            sending = threads.submit(send, cut(content, WRITE), pair.entrance, strike)
            for site in pair.sites:
                eventually(site, "peers.0.state", "outage")
            pair.east.wait_for(lambda: "cannot connect" in look_up(pair.east.status(), "peers.0.last_error"), "says")
            wire.accept()
            whole(receipt(content), sending.result())
            assert len(far.arrivals) == 1


def test_a_black_hole(bed: Bed) -> None:
    """Connections stay, but nothing comes through: both sites notice after `dead_after`, and resume on new ones."""
    content = volume("content", SIZE)
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array() as far, ThreadPoolExecutor() as threads:
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address, tunnel=QUICK)
        with pair.running():

            def strike(number: int) -> None:
                if number == WRITES // 2:
                    wire.stall()

            sending = threads.submit(send, cut(content, WRITE), pair.entrance, strike)
            for site in pair.sites:
                eventually(site, "peers.0.state", "outage")
                logged(site, "nothing was heard")
            wire.flow()
            whole(receipt(content), sending.result())
            assert len(far.arrivals) == 1
            pair.east.wait_up()


def test_a_black_hole_in_one_direction(bed: Bed) -> None:
    """Only what goes to west is swallowed: what still comes from there deceives nobody for long."""
    content = volume("content", SIZE)
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array() as far, ThreadPoolExecutor() as threads:
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address, tunnel=QUICK)
        with pair.running():

            def strike(number: int) -> None:
                if number == WRITES // 2:
                    wire.stall(outward_only=True)

            sending = threads.submit(send, cut(content, WRITE), pair.entrance, strike)
            for site in pair.sites:
                eventually(site, "peers.0.state", "outage")
            wire.flow()
            whole(receipt(content), sending.result())


def test_silent_lanes_are_replaced(bed: Bed) -> None:
    """Nothing comes by the lanes that there are, but new ones come up; once they have, nothing is told to be wrong."""
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel) as wire, Array() as far:
        settings = {**PATIENT, "keepalive": "200ms", "dead_after": "1h", "connect_timeout": "3s"}
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address, tunnel=settings)
        with pair.running():
            wire.forget()
            for site in pair.sites:
                logged(site, "nothing was heard on it, and")  # another one has come up since, or was there before
                eventually(site, "peers.0.last_error", "")
