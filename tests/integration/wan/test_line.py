"""A line in real namespaces: what packets meet there, by the line's own counters. With each backend that is here."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from bench.sites import environment
from bench.wan import Line, Wan, WanFailure, line, namespaces
from bench.wan.namespaces import lacking
from bench.wan.netem import lacking as lacking_netem
from bench.wan.netem import veth
from tests.integration.bed.ends import hears
from tests.integration.bed.lines import line_or_skip
from tests.patience import PATIENCE, until

pytestmark = pytest.mark.root

PORT = 7
SO_SNDBUFFORCE = 32
BROADCAST = "198.18.0.255"


@pytest.fixture(params=["tun", "netem"])
def backend(request: pytest.FixtureRequest) -> str:
    if reason := lacking():
        pytest.skip(reason)
    if request.param == "netem":
        with scratch(f"wan-probe-{os.getpid()}") as name:
            if reason := lacking_netem(name):
                pytest.skip(f"this kernel has no netem: {reason}")
    found: str = request.param
    return found


@contextlib.contextmanager
def scratch(name: str) -> Iterator[str]:
    """A namespace of our own."""
    namespaces.add(name)
    try:
        yield name
    finally:
        namespaces.remove(name)


def carriers_of(wan: Wan) -> list[psutil.Process]:
    """The emulator's processes, which one of ours keeps."""
    prefix = wan.namespaces["east"].removesuffix("-east")
    [keeper] = [each for each in psutil.Process().children() if prefix in " ".join(each.cmdline())]
    return keeper.children()


def throw(wan: Wan, end: str, packets: int, size: int = 100) -> None:
    """UDP packets, `size` bytes each with their headers, from that end to the other, where nobody answers them."""
    with wan.inside(end), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thrower:
        thrower.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        thrower.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)  # all may wait
        for _ in range(packets):
            thrower.sendto(bytes(size - 28), (BROADCAST, 9))


def test_tcp_goes_through_both_ways(backend: str) -> None:
    with line_or_skip(rate="100Mbit", delay="5ms", backend=backend) as wan:
        with wan.inside("west"):
            listener = socket.create_server((wan.addresses["west"], PORT))
        with wan.inside("east"):
            near = socket.create_connection((wan.addresses["west"], PORT), timeout=PATIENCE)
        far, (host, _) = listener.accept()
        with listener, near, far:
            assert host == wan.addresses["east"]
            near.sendall(b"there")
            far.settimeout(PATIENCE)
            far.sendall(far.recv(5))
            hears(near, b"there")
        ways = wan.stats()
        assert ways["west"]["delivered"] >= 3
        assert ways["east"]["delivered"] >= 2


def test_the_queue_and_the_rate(backend: str) -> None:
    """100 packets at once into room for ten and a rate of none to speak of: the others are dropped."""
    with line_or_skip(rate="8kbit", queue="15kB", backend=backend) as wan:
        throw(wan, "east", 100, 1500)
        until(lambda: wan.stats()["west"]["packets"] == 100)
        counted = wan.stats()["west"]
        assert 88 <= counted["queue"] <= 90
        assert counted["waiting_bytes"] <= 15_000
        assert wan.stats()["east"]["packets"] == 0


def test_another_rate_is_that_of_the_queue_as_well(backend: str) -> None:
    """What waited left as it would have, for a minute, and meanwhile the fast line took nothing."""
    with line_or_skip(rate="8kbit", queue="64KiB", backend=backend) as wan:
        throw(wan, "east", 40, 1500)
        until(lambda: wan.stats()["west"]["packets"] == 40)
        began = time.monotonic()
        wan.set("west", rate="10Mbit")
        throw(wan, "east", 3, 1500)
        until(lambda: wan.stats()["west"]["delivered"] == 43)
        assert time.monotonic() - began < 30


def test_what_the_emulator_did_not_take_in_time_is_counted() -> None:
    """Its processes stand still while more comes than the interface has room for."""
    with line_or_skip(rate="1Gbit", backend="tun") as wan:
        carriers = carriers_of(wan)
        for carrier in carriers:
            carrier.suspend()
        throw(wan, "east", namespaces.WAITING_PACKETS + 500)
        for carrier in carriers:
            carrier.resume()
        ways = wan.stats()
        assert 0 < ways["west"]["overrun"] <= 500
        assert ways["east"]["overrun"] == 0


def test_losses_are_counted(backend: str) -> None:
    with line_or_skip(rate="1Gbit", loss="10%", queue="100MiB", backend=backend) as wan:
        throw(wan, "west", 2000)
        until(lambda: wan.stats()["east"]["packets"] == 2000)
        until(lambda: wan.stats()["east"]["on_the_way"] == 0)
        counted = wan.stats()["east"]
        assert 130 <= counted["loss"] <= 270
        assert counted["delivered"] == 2000 - counted["loss"]


def test_each_way_is_its_own(backend: str) -> None:
    with line_or_skip(rate="1Gbit", backend=backend) as wan:
        wan.set("west", loss="100%")
        throw(wan, "east", 20)
        throw(wan, "west", 20)
        until(lambda: wan.stats()["west"]["loss"] == 20)
        until(lambda: wan.stats()["east"]["delivered"] == 20)
        wan.set("west", loss="0%")
        throw(wan, "east", 20)
        until(lambda: wan.stats()["west"]["delivered"] == 20)


def test_an_outage_takes_what_is_on_its_way(backend: str) -> None:
    with line_or_skip(rate="1Gbit", delay="10s", backend=backend) as wan:
        throw(wan, "east", 5)
        until(lambda: wan.stats()["west"]["on_the_way"] == 5)
        wan.outage(True, toward="west")
        assert wan.stats()["west"]["on_the_way"] == 0
        assert [wan.stats()[way]["out"] for way in ("west", "east")] == [True, False]
        throw(wan, "east", 5)
        until(lambda: wan.stats()["west"]["outage"] >= 5)
        wan.outage(False)
        wan.set(delay="0ms")
        throw(wan, "east", 3)
        until(lambda: wan.stats()["west"]["delivered"] == 3)


def test_path_mtu_and_mtu() -> None:
    with line_or_skip(rate="1Gbit", path_mtu="1280B", mtu=9000) as wan:
        throw(wan, "east", 3, 9000)
        throw(wan, "east", 2, 1280)
        until(lambda: wan.stats()["west"]["packets"] == 5)
        counted = wan.stats()["west"]
        assert (counted["path_mtu"], counted["size"]) == (3, 3 * 9000 + 2 * 1280)
        with pytest.raises(OSError, match="long"):
            throw_whole(wan, 9001)


def throw_whole(wan: Wan, size: int) -> None:
    """A packet that must not be cut into fragments."""
    discover, do = 10, 2  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
    with wan.inside("east"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thrower:
        thrower.setsockopt(socket.IPPROTO_IP, discover, do)
        thrower.sendto(bytes(size - 28), (wan.addresses["west"], 9))


def test_lines_stand_side_by_side() -> None:
    with line_or_skip() as one, line_or_skip() as other:
        throw(one, "east", 4)
        until(lambda: one.stats()["west"]["delivered"] == 4)
        assert other.stats()["west"]["packets"] == 0


def test_commands_and_loopback_at_an_end() -> None:
    with line_or_skip() as wan:
        shown = namespaces.run([*wan.command("west"), "ip", "-br", "address"])
        assert wan.addresses["west"] in shown
        assert "127.0.0.1/8" in shown


def test_refusals_leave_the_line_as_it_is() -> None:
    with line_or_skip(rate="1Gbit") as wan:
        with pytest.raises(WanFailure, match="loss 'much' is not a percentage"):
            wan.set(loss="much")
        with pytest.raises(WanFailure, match="no way toward north"):
            wan.outage(True, toward="north")
        throw(wan, "east", 1)
        until(lambda: wan.stats()["west"]["delivered"] == 1)


def test_a_name_that_is_taken() -> None:
    with line_or_skip() as wan:
        prefix = wan.namespaces["east"].removesuffix("-east")
        with pytest.raises(WanFailure, match=f"namespace {prefix}-east already"), line(Line.of(), prefix=prefix):
            pytest.fail("two lines have the same namespaces")
        assert namespaces.exists(f"{prefix}-east"), "it is still the first one's"


def test_everything_goes_with_the_process_that_started_it() -> None:
    with line_or_skip():
        pass  # or skip
    prefix = f"wan-orphan-{os.getpid()}"
    program = f"from bench.wan import *\nwith line(Line.of(), prefix={prefix!r}): print('up', flush=True); input()"
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    with started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"up\n"
        names = namespaces.names(prefix).values()
        assert all(namespaces.exists(name) for name in names)
        started.send_signal(signal.SIGKILL)
    until(lambda: not any(namespaces.exists(name) for name in names))


def test_a_carrier_that_dies_is_noticed() -> None:
    with line_or_skip(backend="tun") as wan:
        carriers_of(wan)[0].kill()
        with pytest.raises(WanFailure, match="has ended"):
            until(lambda: not wan.stats())


def test_the_veth_pair_of_netem() -> None:
    """Its interfaces can be had without netem."""
    with line_or_skip():
        pass  # or skip
    prefix = f"wan-veth-{os.getpid()}"
    names = namespaces.names(prefix)
    with scratch(names["east"]), scratch(names["west"]):
        for command in veth(names):
            namespaces.run(command)
        for end, address in namespaces.ADDRESSES.items():
            namespaces.bring_up(names[end], address, 1400)
        with namespaces.inside(names["west"]):
            listener = socket.create_server((namespaces.ADDRESSES["west"], PORT))
        with listener, namespaces.inside(names["east"]):
            socket.create_connection(listener.getsockname(), timeout=PATIENCE).close()
        shown = namespaces.run(["ip", "-n", names["east"], "-d", "link", "show", "dev", namespaces.INTERFACE])
        assert "mtu 1400" in shown
        assert "gso_max_segs 1 " in shown
