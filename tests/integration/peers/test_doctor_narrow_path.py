"""`isthmus doctor` on a path whose second link has an MTU of 1280, through a real router between namespaces.

While the router's "packet too big" is filtered, large packets vanish without a word; then they are cut to size.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.sites import Site, environment, isthmus
from tests.integration.bed.sites import Bed, logged
from tests.patience import PATIENCE, at_best, until

LOST = "packets of full size are lost"
FILTER = """
add table inet narrow
add chain inet narrow out { type filter hook output priority 0; }
add rule inet narrow out icmp type destination-unreachable drop
add rule inet narrow out icmpv6 type packet-too-big drop
"""


@dataclass(frozen=True)
class Network:
    """Two links that a router joins: beginnings of addresses, to which 1 is added for the router and 2 for the end."""

    near: str
    far: str
    bits: int
    forwarding: str
    listen: str


IPV4 = Network("10.99.1.", "10.99.2.", 24, "net.ipv4.ip_forward=1", "10.99.2.2")
IPV6 = Network("fd99:1::", "fd99:2::", 64, "net.ipv6.conf.all.forwarding=1", "[fd99:2::2]")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def within(namespace: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *command]


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str, str]]:
    """Near, router, far; removed afterwards."""
    if not (shutil.which("ip") and shutil.which("nft")):
        pytest.skip("needs ip and nft")
    names = [f"isthmus-{os.getpid()}-{role}" for role in ("near", "router", "far")]
    with contextlib.ExitStack() as stack:
        for name in names:
            if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
                pytest.skip("network namespaces cannot be made here")
            stack.callback(ip, "netns", "del", name)
            ip("-n", name, "link", "set", "lo", "up")
            # IPv6 would first ask for seconds whether somebody else has the address
            subprocess.run(within(name, "sysctl", "-qw", "net.ipv6.conf.default.dad_transmits=0"), check=False)
        near, router, far = names
        yield near, router, far


def build(network: Network, near: str, router: str, far: str) -> None:
    """Near and far meet at the router, whose link to far has the small MTU."""
    for number, (end, link) in enumerate([(near, network.near), (far, network.far)]):
        name = f"link{number}"
        ip("link", "add", name, "netns", end, "type", "veth", "peer", "name", name, "netns", router)
        for namespace, host in ((router, 1), (end, 2)):
            unasked = ("nodad",) if network is IPV6 else ()
            ip("-n", namespace, "addr", "add", f"{link}{host}/{network.bits}", "dev", name, *unasked)
            ip("-n", namespace, "link", "set", name, "up")
        ip("-n", end, "route", "add", "default", "via", f"{link}1")
    ip("-n", router, "link", "set", "link1", "mtu", "1280")
    subprocess.run(within(router, "sysctl", "-qw", network.forwarding), check=True)


@contextlib.contextmanager
def served(site: Site, namespace: str) -> Iterator[None]:
    with site.log.open("wb") as log:
        command = within(namespace, *isthmus("serve", str(site.config)))
        process = subprocess.Popen(command, stderr=log, env=environment())
    try:
        logged(site, "is ready")
        yield
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def wait_until_connected(near: str, host: str) -> None:
    """New links take their time."""
    connect = f"import socket; socket.create_connection(({host!r}, 4500), 1).close()"
    command = within(near, sys.executable, "-c", connect)
    until(lambda: not subprocess.run(command, capture_output=True, check=False).returncode, "there is no way there")


def examine(site: Site, namespace: str) -> dict[str, Any]:
    command = within(namespace, *isthmus("doctor", str(site.config), "--json"))
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=PATIENCE, check=False)
    return {finding["about"]: finding for finding in json.loads(done.stdout)["findings"]}


@pytest.mark.root
@pytest.mark.parametrize("network", [IPV4, IPV6], ids=["IPv4", "IPv6"])
def test_large_packets_that_vanish(bed: Bed, namespaces: tuple[str, str, str], network: Network) -> None:
    if network is IPV6 and not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("needs IPv6")
    near, router, far = namespaces
    build(network, near, router, far)
    west = bed.site("west", {"east": None}, tunnel={"listen": f"{network.listen}:4500"})
    east = bed.site("east", {"west": (network.listen, 4500)}, tunnel={"connect_timeout": "1s"})
    with served(west, far):
        wait_until_connected(near, f"{network.far}2")
        subprocess.run(within(router, "nft", "-f", "-"), input=FILTER, text=True, check=True)
        lost = at_best(lambda: examine(east, near), lambda said: said["peer west"]["found"].endswith(LOST))
        assert lost["peer west"]["level"] == "problem"
        assert lost["peer west"]["found"].endswith(LOST)
        assert lost["MTU probing"]["level"] == "attention"

        subprocess.run(within(router, "nft", "flush", "ruleset"), check=True)
        found = at_best(lambda: examine(east, near), lambda said: said["peer west"]["level"] == "ok")
        assert found["peer west"]["level"] == "ok"
        assert found["path to west"]["found"].startswith("MTU 1280, MSS 12")
        assert found["path to west"]["found"].endswith("packets of full size pass")
