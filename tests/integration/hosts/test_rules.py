"""The files for hosts: nftables takes the rules, and they do what they say; sysctl has what `isthmus plan` asks for."""

import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.wan import namespaces
from bench.wan.namespaces import run as command
from proxy.plan.line import Line, sysctl_lines

DEPLOY = Path(__file__).parents[3] / "deploy"
pytestmark = pytest.mark.root


@pytest.fixture
def namespace() -> Iterator[str]:
    if reason := namespaces.lacking():
        pytest.skip(reason)
    name = f"isthmus-rules-{os.getpid()}"
    namespaces.add(name)
    try:
        yield name
    finally:
        namespaces.remove(name)


@pytest.mark.parametrize("rules", sorted((DEPLOY / "nftables").glob("*.nft")), ids=lambda path: path.name)
def test_nftables_takes_them_again_and_again(namespace: str, rules: Path) -> None:
    if not shutil.which("nft"):
        pytest.skip("not installed: nft (Debian: package nftables)")
    nft = ["ip", "netns", "exec", namespace, "nft"]
    command([*nft, "-c", "-f", str(rules)])
    command([*nft, "-f", str(rules)])
    once = command([*nft, "list", "ruleset"])
    command([*nft, "-f", str(rules)])
    assert command([*nft, "list", "ruleset"]) == once
    assert "table" in once


def test_only_peers_and_arrays_reach_the_site(namespace: str) -> None:
    """The rules of door.nft, with this namespace's own addresses for a stranger's and a peer's."""
    if not shutil.which("nft"):
        pytest.skip("not installed: nft (Debian: package nftables)")
    other = f"{namespace}-other"
    namespaces.add(other)
    try:
        peer = ["peer", "name", "far0", "netns", other]
        command(["ip", "-n", namespace, "link", "add", "near0", "type", "veth", *peer])
        for name, interface, addresses in (
            (namespace, "near0", ["198.18.0.1/24"]),
            (other, "far0", ["198.18.0.2/24", "198.18.0.9/24"]),
        ):
            for address in addresses:
                command(["ip", "-n", name, "address", "add", address, "dev", interface])
            command(["ip", "-n", name, "link", "set", interface, "up"])
        command(["ip", "netns", "exec", namespace, "nft", "-f", str(DEPLOY / "nftables" / "door.nft")])
        with namespaces.inside(namespace):
            listeners = {port: socket.create_server(("198.18.0.1", port)) for port in (4500, 3260, 8080)}
        try:
            with namespaces.inside(other):
                assert reached("198.18.0.2", 4500)
                assert not reached("198.18.0.9", 4500)
                assert not reached("198.18.0.2", 3260)
                assert reached("198.18.0.9", 8080)
        finally:
            for listener in listeners.values():
                listener.close()
    finally:
        namespaces.remove(other)


def reached(source: str, port: int) -> bool:
    """Whether a connection from that address is accepted; packets that are dropped are waited for."""
    seconds = DROPPED_SECONDS if (source, port) in DROPPED else 60
    try:
        socket.create_connection(("198.18.0.1", port), timeout=seconds, source_address=(source, 0)).close()
    except TimeoutError:
        return False
    return True


DROPPED_SECONDS = 2
"""A packet that is dropped never arrives, however long one waits: no machine is too slow for this."""
DROPPED = {("198.18.0.9", 4500), ("198.18.0.2", 3260)}


def test_buffers_are_enough_for_the_line_that_the_file_names() -> None:
    text = (DEPLOY / "sysctl" / "90-isthmus.conf").read_text()
    assert "1 Gbit/s with\n# a round trip of 130 ms" in text
    line = Line(rate=1e9, round_trip=0.130)
    most = {match[1]: int(match[2]) for match in re.finditer(r"^net\.ipv4\.(\w+) = \d+ \d+ (\d+)$", text, re.MULTILINE)}
    assert most.keys() == {"tcp_rmem", "tcp_wmem"}
    for advised in sysctl_lines(line.buffer):
        name, wanted = advised.removeprefix("net.ipv4.").split(" = ")
        assert most[name] >= int(wanted.split()[2])


@pytest.mark.parametrize("settings", sorted((DEPLOY / "sysctl").glob("9*.conf")), ids=lambda path: path.name)
def test_the_kernel_takes_the_settings(namespace: str, settings: Path) -> None:
    if not shutil.which("sysctl"):
        pytest.skip("not installed: sysctl (Debian: package procps)")
    text = "".join(line for line in settings.read_text().splitlines(keepends=True) if not line.startswith("-"))
    sysctl = ["ip", "netns", "exec", namespace, "sysctl"]
    for name, value in re.findall(r"^([\w.]+) = (.*)$", text, re.MULTILINE):
        command([*sysctl, "-q", "-w", f"{name}={value}"])
        assert command([*sysctl, "-n", name]).split() == value.split()
