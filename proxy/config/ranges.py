"""Many addresses in one word: "10.1.0.0/24" for hosts with one port, "3261-3276" for ports of one host."""

import ipaddress
import re
from typing import Annotated, NamedTuple

from proxy.config.addresses import Address, parse_address
from proxy.config.validators import reader, shape

PORTAL_PORT = 3260
"""The port of a range that names none: iSCSI's."""
PORTS_MAX = 256


class AddressRange(NamedTuple):
    """A network and a TCP port."""

    network: ipaddress.IPv4Network | ipaddress.IPv6Network
    port: int

    def __str__(self) -> str:
        port = "" if self.port == PORTAL_PORT else f":{self.port}"
        return f"[{self.network}]{port}" if self.network.version == 6 and port else f"{self.network}{port}"

    def covers(self, address: Address) -> bool:
        """True if the address is in the range. A name never is, nor an address that names an interface: there may be
        any number of these for each address, and a peer that asks for one would choose an interface of this host."""
        ip = address.ip
        return address.port == self.port and ip is not None and "%" not in address.host and ip in self.network

    def place(self, address: Address) -> int:
        """The address's place in the network, from 0."""
        assert address.ip is not None
        return int(address.ip) - int(self.network.network_address)


class PortRange(NamedTuple):
    """Ports from the first to the last, both included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def __len__(self) -> int:
        return self.last - self.first + 1

    def covers(self, port: int) -> bool:
        """True if it is one of them."""
        return self.first <= port <= self.last

    def beginning_at(self, place: int) -> list[int]:
        """All ports, beginning with the one at `place` modulo their number: so the same place has the same port."""
        return [self.first + (place + step) % len(self) for step in range(len(self))]


def parse_range(text: str) -> AddressRange:
    """A network, perhaps with a port: "10.1.0.0/24", "10.1.0.0/24:3261", "[2001:db8::/64]:3261". Raises ValueError."""
    network, port = text, PORTAL_PORT
    if match := re.fullmatch(r"(?:\[(.*)\]|([0-9.]+/[0-9]+)):([0-9]{1,5})", text):
        network = match[1] or match[2]
        port = parse_address(f"host:{match[3]}").port
    if not re.fullmatch(r"[0-9A-Fa-f:.]+/[0-9]{1,3}", network):  # ipaddress takes "10.1.0.0/255.255.255.0" as well
        raise ValueError("is not a network")
    try:
        return AddressRange(ipaddress.ip_network(network), port)
    except ValueError as error:
        host_bits = "host bits" in str(error)
        raise ValueError("names a host, not a network" if host_bits else "is not a network") from None


def parse_ports(text: str) -> PortRange:
    """First and last port. Raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,5})-([0-9]{1,5})", text)
    if match is None:
        raise ValueError("is not a range of ports")
    ports = PortRange(*(parse_address(f"host:{port}").port for port in match.groups()))
    if ports.last < ports.first:
        raise ValueError("ends before it begins")
    if ports.last - ports.first >= PORTS_MAX:
        raise ValueError(f"has more than {PORTS_MAX} ports")
    return ports


_NETWORK = r"([0-9.]+/[0-9]{1,2}(:[0-9]{1,5})?|[0-9A-Fa-f:.]+/[0-9]{1,3}|\[[0-9A-Fa-f:.]+/[0-9]{1,3}\]:[0-9]{1,5})"
_NETWORK_REMEDY = (
    'write a network, such as "10.1.0.0/24" or "2001:db8::/64"'
    f' (port {PORTAL_PORT}), or with another port "10.1.0.0/24:3261" or "[2001:db8::/64]:3261"'
)

Range = Annotated[AddressRange, reader(parse_range, _NETWORK_REMEDY), shape("network and port", f"^{_NETWORK}$")]
"""Addresses of a network with one port."""
Ports = Annotated[
    PortRange,
    reader(parse_ports, f'write first and last port, such as "3261-3276", at most {PORTS_MAX} of them'),
    shape("ports", "^[0-9]{1,5}-[0-9]{1,5}$"),
]
"""Ports to listen on."""
