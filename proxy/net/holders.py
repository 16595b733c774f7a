"""Which users hold a port of this host, as the kernel tells by /proc/net/tcp and tcp6."""

import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_TABLES = Path("/proc/net")
_LISTENS = "0A"
Address = IPv4Address | IPv6Address


def holders(host: str, port: int, tables: Path = _TABLES) -> frozenset[int]:
    """Users (numbers) of the sockets that get what connects to that numeric address; empty if none is known.

    Who listens at the very address gets it; only where nobody does, those who listen at all addresses.
    """
    wanted = _plain(ip_address(host.partition("%")[0]))
    found = [(address, user) for address, at, user in _listening(tables) if at == port]
    exact = frozenset(user for address, user in found if address == wanted)
    return exact or frozenset(user for address, user in found if address.is_unspecified)


def _listening(tables: Path) -> Iterator[tuple[Address, int, int]]:
    """Address, port, user."""
    for name in ("tcp", "tcp6"):
        path = tables / name
        if not path.exists():
            continue  # a kernel without IPv6
        for line in path.read_text().splitlines()[1:]:
            _, local, _, state, _, _, _, user, *_ = line.split()
            if state == _LISTENS:
                address, _, port = local.partition(":")
                yield _address(address), int(port, 16), int(user)


def _address(text: str) -> Address:
    """Words of 32 bits, each as the machine has it."""
    words = (int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8))
    packed = b"".join(words)
    return IPv4Address(packed) if len(packed) == 4 else _plain(IPv6Address(packed))


def _plain(address: Address) -> Address:
    return getattr(address, "ipv4_mapped", None) or address
