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
from bench.wan import namespaces
from bench.wan.namespaces import run as command
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


def within(namespace: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *command]


@pytest.fixture
def hosts() -> Iterator[tuple[str, str, str]]:
    """Near, router, far; removed afterwards."""
    if reason := namespaces.lacking():
        pytest.skip(reason)
    if not shutil.which("nft"):
        pytest.skip("not installed: nft (Debian: package nftables)")
    near, router, far = names = [f"isthmus-{os.getpid()}-{role}" for role in ("near", "router", "far")]
    with contextlib.ExitStack() as stack:
        for name in names:
            namespaces.add(name)
            stack.callback(namespaces.remove, name)
        yield near, router, far


def build(network: Network, near: str, router: str, far: str) -> None:
    """Near and far meet at the router, whose link to far has the small MTU."""
    for number, (end, link) in enumerate([(near, network.near), (far, network.far)]):
        name = f"link{number}"
        command(["ip", "link", "add", name, "netns", end, "type", "veth", "peer", "name", name, "netns", router])
        for namespace, host in ((router, 1), (end, 2)):
            ip = ["ip", "-n", namespace]
            # IPv6 would first ask for seconds whether somebody else has the address
            unasked = ["nodad"] if network is IPV6 else []
            command([*ip, "address", "add", f"{link}{host}/{network.bits}", "dev", name, *unasked])
            command([*ip, "link", "set", name, "up"])
        command(["ip", "-n", end, "route", "add", "default", "via", f"{link}1"])
    command(["ip", "-n", router, "link", "set", "link1", "mtu", "1280"])
    command(within(router, "sysctl", "-qw", network.forwarding))


@contextlib.contextmanager
def served(site: Site, namespace: str) -> Iterator[None]:
    with site.log.open("wb") as log:
        serving = within(namespace, *isthmus("serve", str(site.config)))
        process = subprocess.Popen(serving, stderr=log, env=environment())
    try:
        logged(site, "is ready")
        yield
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def wait_until_connected(near: str, host: str) -> None:
    """New links take their time."""
    connect = f"import socket; socket.create_connection(({host!r}, 4500), 1).close()"
    connecting = within(near, sys.executable, "-c", connect)
    until(lambda: not subprocess.run(connecting, capture_output=True, check=False).returncode, "there is no way there")


def examine(site: Site, namespace: str) -> dict[str, Any]:
    examining = within(namespace, *isthmus("doctor", str(site.config), "--json"))
    done = subprocess.run(examining, env=environment(), capture_output=True, timeout=PATIENCE, check=False)
    return {finding["about"]: finding for finding in json.loads(done.stdout)["findings"]}


@pytest.mark.root
@pytest.mark.parametrize("network", [IPV4, IPV6], ids=["IPv4", "IPv6"])
def test_large_packets_that_vanish(bed: Bed, hosts: tuple[str, str, str], network: Network) -> None:
    if network is IPV6 and not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("needs IPv6")
    near, router, far = hosts
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

        command(within(router, "nft", "flush", "ruleset"))
        found = at_best(lambda: examine(east, near), lambda said: said["peer west"]["level"] == "ok")
        assert found["peer west"]["level"] == "ok"
        assert found["path to west"]["found"].startswith("MTU 1280, MSS 12")
        assert found["path to west"]["found"].endswith("packets of full size pass")
