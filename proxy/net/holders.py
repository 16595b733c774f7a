"""Which users listen on a port of this host, as /proc/net/tcp and tcp6 show it."""

import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_TABLES = Path("/proc/net")
_LISTENS = "0A"
Address = IPv4Address | IPv6Address


def holders(host: str, port: int, tables: Path = _TABLES) -> frozenset[int]:
    """User numbers of the sockets that get connections to that numeric address; empty if none is known.

    These are the sockets that listen on that very address; only if there are none, those that listen on all addresses.
    """
    wanted = _plain(ip_address(host.partition("%")[0]))
    found = [(address, user) for address, at, user in _listening(tables) if at == port]
    exact = frozenset(user for address, user in found if address == wanted)
    return exact or frozenset(user for address, user in found if address.is_unspecified)


def _listening(tables: Path) -> Iterator[tuple[Address, int, int]]:
    """Address, port and user number of each listening socket."""
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
    """Parse an address as the kernel writes it: words of 32 bits, each in the machine's byte order."""
    words = (int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8))
    packed = b"".join(words)
    return IPv4Address(packed) if len(packed) == 4 else _plain(IPv6Address(packed))


def _plain(address: Address) -> Address:
    return getattr(address, "ipv4_mapped", None) or address
