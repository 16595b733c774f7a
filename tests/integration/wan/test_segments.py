"""The kernel hands over TCP's segments many at once: what crosses the line are segments, and every byte arrives."""

import json
import socket
import threading
from functools import partial
from typing import Any

import pytest

from bench.wan import Wan, namespaces
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import same
from tests.integration.bed.lines import line_or_skip
from tests.patience import PATIENCE

pytestmark = pytest.mark.root

MTU = 1500
SIZE = 8 << 20
content = partial(volume, "in segments", SIZE)
LINES: dict[str, dict[str, str]] = {
    "good": {"rate": "1Gbit", "delay": "5ms", "queue": "16MiB"},
    "slow": {"rate": "45Mbit", "delay": "5ms"},
    "lossy": {"rate": "1Gbit", "delay": "5ms", "loss": "2%"},
    "losses in bursts": {"rate": "1Gbit", "delay": "2ms", "loss": "1%", "burst": "5"},
    "a short queue": {"rate": "300Mbit", "delay": "2ms", "queue": "30kB"},
    "out of order": {"rate": "1Gbit", "delay": "5ms", "reorder": "5%"},
    "everything": {"rate": "500Mbit", "jitter": "5ms", "loss": "1%", "reorder": "2%", "duplicate": "5%"},
}
ADDRESSES = {socket.AF_INET: namespaces.ADDRESSES, socket.AF_INET6: {"east": "fd00::1", "west": "fd00::2"}}


@pytest.mark.parametrize("settings", LINES.values(), ids=LINES.keys())
@pytest.mark.parametrize("family", ADDRESSES, ids=lambda family: family.name)
def test_a_stream(family: socket.AddressFamily, settings: Any) -> None:
    with line_or_skip(**settings, mtu=MTU) as wan:
        if family == socket.AF_INET6:
            for end, address in ADDRESSES[family].items():
                namespaces.run([*wan.command(end), "ip", "address", "add", f"{address}/64", "dev", "wan0", "nodad"])
        same(content(), streamed(wan, family))
        counted = wan.stats()["west"]
        assert counted["packets"] >= SIZE / (MTU - 40), "each segment counts"
        assert counted["size"] <= counted["packets"] * MTU
        if settings == LINES["good"]:
            assert 0 < received(wan, "west") < counted["delivered"] / 2, "they also arrive many at once"


def test_datagrams() -> None:
    """Their checksum may be left to the device, and long ones come in fragments."""
    with line_or_skip(rate="1Gbit", mtu=MTU) as wan:
        with wan.inside("west"):
            sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with wan.inside("east"):
            source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sink, source:
            sink.bind((wan.addresses["west"], 0))
            sink.settimeout(PATIENCE)
            for size in (1, 1472, 20_000):
                source.sendto(content()[:size], sink.getsockname())
                same(content()[:size], sink.recv(1 << 16))


def streamed(wan: Wan, family: socket.AddressFamily) -> bytes:
    """What comes of the content at west."""
    with wan.inside("west"):
        listener = socket.create_server((ADDRESSES[family]["west"], 0), family=family)
    with wan.inside("east"):
        near = socket.create_connection(listener.getsockname()[:2], timeout=PATIENCE)
    far, _ = listener.accept()
    with listener, far:
        far.settimeout(PATIENCE)
        sender = threading.Thread(target=pour, args=[near], daemon=True)
        sender.start()
        arrived = b"".join(iter(lambda: far.recv(1 << 20), b""))
        sender.join()
    return arrived


def pour(near: socket.socket) -> None:
    with near:
        near.sendall(content())


def received(wan: Wan, end: str) -> int:
    """Packets that the interface there was given."""
    shown = namespaces.run([*wan.command(end), "ip", "-j", "-s", "link", "show", "dev", namespaces.INTERFACE])
    packets: int = json.loads(shown)[0]["stats64"]["rx"]["packets"]
    return packets
