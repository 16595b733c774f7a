"""The files for hosts: nftables takes the rules, and they do what they say; sysctl has what `isthmus plan` asks for."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.wan import namespaces
from bench.wan.namespaces import run as command
from proxy.plan.line import Line, sysctl_lines
from tests.patience import until

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


@pytest.fixture
def others(namespace: str) -> Iterator[tuple[str, str]]:
    """Two more hosts."""
    names = f"{namespace}-other", f"{namespace}-third"
    with contextlib.ExitStack() as stack:
        for name in names:
            namespaces.add(name)
            stack.callback(namespaces.remove, name)
        yield names


def test_only_peers_arrays_and_viewers_reach_the_site(namespace: str, others: tuple[str, str]) -> None:
    """The rules of door.nft, with one host's addresses for a stranger's, a peer's and an array's."""
    other, _ = others
    joined((namespace, "near0", ["198.18.0.1/24"]), (other, "far0", ["198.18.0.2/24", "198.18.0.9/24", "10.0.0.9/32"]))
    command(["ip", "-n", namespace, "route", "add", "10.0.0.0/24", "dev", "near0"])
    ports = "define FORWARDS = { 3260 }", "define FORWARDS = { 3260, 3261-3276 }"
    viewers = "define VIEWERS = { 127.0.0.0/8 }", "define VIEWERS = { 198.18.0.2 }"
    load(namespace, "door.nft", ports)
    with listening(namespace, "198.18.0.1", 4500, 3260, 3270, 8900, 8080), namespaces.inside(other):
        target = "198.18.0.1"
        assert reached(target, 4500, "198.18.0.2")
        assert reached(target, 3270, "10.0.0.9")
        assert reached(target, 8080, "198.18.0.9")
        assert dropped(target, (4500, "198.18.0.9"), *((port, "198.18.0.2") for port in (3260, 3270, 8900)))
    load(namespace, "door.nft", viewers)
    with listening(namespace, "198.18.0.1", 8900), namespaces.inside(other):
        assert reached("198.18.0.1", 8900, "198.18.0.2")
        assert dropped("198.18.0.1", (8900, "198.18.0.9"))


def test_a_peer_with_ipv6_is_let_in_as_the_file_says(namespace: str, others: tuple[str, str]) -> None:
    """Its comment is the rule; without it nobody with IPv6 reaches the site."""
    other, _ = others
    joined((namespace, "near0", ["2001:db8::1/64"]), (other, "far0", ["2001:db8::2/64", "2001:db8::9/64"]))
    for name in (namespace, other):
        wait_for_addresses(name)
    comment = "# Peers, arrays and viewers with IPv6 are let in before this one: "
    with listening(namespace, "2001:db8::1", 4500, 8080), namespaces.inside(other):
        load(namespace, "door.nft")
        assert reached("2001:db8::1", 8080, "2001:db8::2")
        assert dropped("2001:db8::1", (4500, "2001:db8::2"))
        load(namespace, "door.nft", (comment, ""))
        assert reached("2001:db8::1", 4500, "2001:db8::2")
        assert dropped("2001:db8::1", (4500, "2001:db8::9"))


def wait_for_addresses(name: str) -> None:
    """Until the kernel has seen that nobody else has its IPv6 addresses."""
    until(lambda: "tentative" not in command(["ip", "-n", name, "-6", "address", "show"]))


def test_transparent_mode_makes_no_router(namespace: str, others: tuple[str, str]) -> None:
    """Forwarding is on; nothing comes through from one network to another, but where that is said."""
    other, third = others
    joined((namespace, "storage0", ["10.0.0.1/24"]), (other, "far0", ["10.0.0.9/24"]))
    joined((namespace, "wan0", ["10.9.0.1/24"]), (third, "far0", ["10.9.0.9/24", "10.1.0.5/32"]))
    command(["ip", "-n", namespace, "route", "add", "10.1.0.0/24", "via", "10.9.0.9"])
    for name, gateway in ((other, "10.0.0.1"), (third, "10.9.0.1")):
        command(["ip", "-n", name, "route", "add", "default", "via", gateway])
    command(["ip", "netns", "exec", namespace, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"])
    with listening(third, "0.0.0.0", 8080), listening(third, "10.1.0.5", 3260), namespaces.inside(other):
        assert reached("10.9.0.9", 8080)
        load(namespace, "transparent.nft")
        assert dropped("10.9.0.9", (8080, ""))
        load(namespace, "transparent.nft", ("define ROUTED = { 127.0.0.0/8 }", "define ROUTED = { 10.0.0.0/24 }"))
        assert reached("10.9.0.9", 8080)
        with pytest.raises(ConnectionRefusedError):  # by this host, since no forward listens
            reached("10.1.0.5", 3260)


def joined(*ends: tuple[str, str, list[str]]) -> None:
    """A cable between two hosts: of each its name, the interface and that one's addresses."""
    (one, near, _), (two, far, _) = ends
    command(["ip", "-n", one, "link", "add", near, "type", "veth", "peer", far, "netns", two])
    for name, interface, addresses in ends:
        for address in addresses:
            command(["ip", "-n", name, "address", "add", address, "dev", interface])
        command(["ip", "-n", name, "link", "set", interface, "up"])


def load(namespace: str, rules: str, *changes: tuple[str, str]) -> None:
    """The rules of that file, with these lines for those."""
    if not shutil.which("nft"):
        pytest.skip("not installed: nft (Debian: package nftables)")
    text = (DEPLOY / "nftables" / rules).read_text()
    for line, other in changes:
        assert line in text
        text = text.replace(line, other)
    nft = ["ip", "netns", "exec", namespace, "nft", "-f", "-"]
    subprocess.run(nft, input=text, text=True, check=True, timeout=60)


@contextlib.contextmanager
def listening(namespace: str, address: str, *ports: int) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with namespaces.inside(namespace):
            for port in ports:
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                stack.enter_context(socket.create_server((address, port), family=family))
        yield


def reached(target: str, port: int, source: str = "", seconds: float = 60) -> bool:
    """Whether a connection is accepted; packets that are dropped are waited for."""
    try:
        socket.create_connection((target, port), timeout=seconds, source_address=(source, 0)).close()
    except TimeoutError:
        return False
    return True


def dropped(target: str, *tried: tuple[int, str]) -> bool:
    """A packet that is dropped never arrives, however long one waits: no machine is too slow for this.

    All ports, each from its source, are tried at once, by threads that are where this one is.
    """
    with ThreadPoolExecutor(len(tried)) as threads:
        return not any(threads.map(lambda each: reached(target, each[0], each[1], DROPPED_SECONDS), tried))


DROPPED_SECONDS = 2


def test_buffers_are_enough_for_the_line_that_the_file_names() -> None:
    text = (DEPLOY / "sysctl" / "90-isthmus.conf").read_text()
    assert "1 Gbit/s with\n# a round trip of 130 ms" in text
    line = Line(rate=1e9, round_trip=0.130)
    most = {match[1]: int(match[2]) for match in re.finditer(r"^net\.ipv4\.(\w+) = \d+ \d+ (\d+)$", text, re.MULTILINE)}
    assert most.keys() == {"tcp_rmem", "tcp_wmem"}
    for advised in sysctl_lines(line.advised):
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
