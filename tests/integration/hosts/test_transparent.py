"""Transparent mode: initiators keep the far portals' own addresses, and nftables redirects them to the forward.

A third namespace stands for the hosts beside east: its route to 10.1.0.0/24 leads by way of east's host, which has the
rules of deploy/nftables/transparent.nft. West has the portals 10.1.0.5 and 10.1.0.6.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bench.sites import free_port
from bench.wan import Wan, namespaces
from bench.wan.namespaces import run as command
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, how_dialling_ends, receipt, send, torn, whole
from tests.integration.bed.lines import line_or_skip, pair_over
from tests.integration.bed.sites import Bed, Pair, configure, logged

pytestmark = [pytest.mark.root, pytest.mark.serial]

RULES = Path(__file__).parents[3] / "deploy" / "nftables" / "transparent.nft"
FIRST, SECOND, OUTSIDE = "10.1.0.5", "10.1.0.6", "10.2.0.5"
SIZE = 2 << 20


@pytest.fixture
def wan() -> Iterator[Wan]:
    if not shutil.which("nft"):
        pytest.skip("not installed: nft (Debian: package nftables)")
    with line_or_skip(rate="100Mbit", delay="2ms") as wan:
        for address in (FIRST, SECOND, OUTSIDE):
            command([*wan.command("west"), "ip", "address", "add", f"{address}/32", "dev", "lo"])
        yield wan


@pytest.fixture
def hosts(wan: Wan) -> Iterator[str]:
    """A namespace whose default route is east's host."""
    name = f"isthmus-hosts-{os.getpid()}"
    inside_east = wan.command("east")
    namespaces.add(name)
    try:
        peer = ["peer", "name", "hosts0", "netns", name]
        command([*inside_east, "ip", "link", "add", "lan0", "type", "veth", *peer])
        for ip, interface, address in (
            ([*inside_east, "ip"], "lan0", "10.0.0.1/24"),
            (["ip", "-n", name], "hosts0", "10.0.0.9/24"),
        ):
            command([*ip, "address", "add", address, "dev", interface])
            command([*ip, "link", "set", interface, "up"])
        command(["ip", "-n", name, "route", "add", "default", "via", "10.0.0.1"])
        command([*inside_east, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"])
        yield name
    finally:
        namespaces.remove(name)


def test_connections_keep_their_destination(bed: Bed, wan: Wan, hosts: str) -> None:
    content = volume("transparent", SIZE)
    with arrays(wan) as (first, second, port):
        pair = transparent(bed, wan, port)
        with pair.running(), namespaces.inside(hosts):
            for array, address in ((second, SECOND), (first, FIRST)):
                sending = send(cut(content, 256 << 10), (address, port))
                whole(receipt(content), sending)
                whole(content, array.arrival().wait())
            assert len(first.arrivals) == len(second.arrivals) == 1
            # And one that nothing redirects, to the forward itself.
            direct = send(cut(content, 256 << 10), ("10.0.0.1", pair.entrance[1]))
            whole(receipt(content), direct)
            whole(content, first.arrival(1).wait())


def test_what_is_out_of_range_is_refused(bed: Bed, wan: Wan, hosts: str) -> None:
    """East's rules redirect more than its forward's range has; then west's export has less than east's forward."""
    with arrays(wan) as (first, _, port):
        pair = transparent(bed, wan, port, exported=f"10.1.0.4/31:{port}")
        with pair.running(), namespaces.inside(hosts):
            torn(b"", how_dialling_ends((OUTSIDE, port)))
            logged(pair.east, f"it was meant for {OUTSIDE}:{port}, which is not in its range")
            torn(b"", how_dialling_ends((SECOND, port)))
            logged(pair.west, f"{SECOND}:{port} is not in a range of export array")
            assert not first.arrivals


@contextlib.contextmanager
def arrays(wan: Wan) -> Iterator[tuple[Array, Array, int]]:
    """At west, both on the same port."""
    port = free_port()
    with wan.inside("west"):
        first, second = Array(address=(FIRST, port)), Array(address=(SECOND, port))
    with first, second:
        yield first, second, port


def transparent(bed: Bed, wan: Wan, port: int, *, exported: str = "") -> Pair:
    """A pair whose forward is transparent, with the rules at east that go with it."""
    pair = pair_over(bed, wan, (FIRST, port))
    configure(pair.west, "export", f'range = "{exported or f"10.1.0.0/24:{port}"}"\n')
    text = pair.east.config.read_text().replace(f"127.0.0.1:{pair.entrance[1]}", f"0.0.0.0:{pair.entrance[1]}")
    pair.east.config.write_text(text)
    configure(pair.east, "forward", f'transparent = true\nrange = "10.1.0.0/24:{port}"\n')
    rules = RULES.read_text()
    for name, default, value in (
        ("PORTALS", "10.1.0.0/24", "{ 10.1.0.0/24, 10.2.0.0/24 }"),
        ("PORT", "3260", str(port)),
        ("FORWARD", "3260", str(pair.entrance[1])),
    ):
        assert f"define {name} = {default}" in rules
        rules = rules.replace(f"define {name} = {default}", f"define {name} = {value}")
    nft = [*wan.command("east"), "nft", "-f", "-"]
    subprocess.run(nft, input=rules, text=True, check=True, timeout=60)
    for site in pair.sites:
        site.inside = partial(wan.inside, site.name)
    return pair
