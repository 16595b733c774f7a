"""Addresses as operators write them: "198.18.0.1:4500", "[::1]:3260", "host.example:3260".

Where to connect to may be a name; where to listen is an IP address, because what a name means may change.
"""

import ipaddress
import re
from functools import lru_cache
from typing import Annotated, NamedTuple

from proxy.config.validators import reader, shape


class Address(NamedTuple):
    """A host (name or IP address, without brackets) and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """The host as an IP address, or None if it is a name."""
        return _ip(self.host)

    @property
    def stands_for_all(self) -> bool:
        """True for 0.0.0.0 and [::], which can be listened on, but not dialled."""
        return self.ip is not None and self.ip.is_unspecified

    def shares_host(self, other: "Address") -> bool:
        """True if listening on both takes two ports: they are the same IP address, or one stands for all."""
        one, two = self.ip, other.ip
        if one is None or two is None or one.version != two.version:
            return False
        return one == two or one.is_unspecified or two.is_unspecified


_SCOPE = "[A-Za-z0-9_.-]+"
"""The network interface that a link-local address may name."""
_ADDRESS_PATTERN = rf"^(\[[0-9A-Fa-f:.]+(%{_SCOPE})?\]|[A-Za-z0-9_][A-Za-z0-9_.-]*):[0-9]{{1,5}}$"
_LISTEN_PATTERN = rf"^(\[[0-9A-Fa-f:.]+(%{_SCOPE})?\]|[0-9.]+):[0-9]{{1,5}}$"
_ADDRESS_REMEDY = 'write host and port, such as "198.18.0.1:4500", "[2001:db8::1]:4500" or "host.example:3260"'
_LISTEN_REMEDY = (
    'write an IP address of this host and a port, such as "198.18.0.1:4500" or "[::1]:4500"'
    ' ("0.0.0.0:4500" or "[::]:4500" for all addresses)'
)


def parse_address(text: str) -> Address:
    """Host and port, from "198.18.0.1:4500", "[::1]:3260" or "host.example:3260". Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise ValueError("is not a host and a port")
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise ValueError("has no port between 1 and 65535")
    return Address(_host(host), int(port))


def parse_remote(text: str) -> Address:
    """As `parse_address`, of a host that can be dialled: not 0.0.0.0 or [::]. Raises ValueError."""
    address = parse_address(text)
    if address.stands_for_all:
        raise ValueError("stands for all addresses of a host, and can be dialled by nobody")
    return address


def parse_listen(text: str) -> Address:
    """As `parse_address`, IP addresses only. Raises ValueError."""
    address = parse_address(text)
    if address.ip is None:
        raise ValueError("is a name, not an IP address of this host")
    return address


def _host(text: str) -> str:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    ip = _ip(bare)
    if bare != text:
        if not isinstance(ip, ipaddress.IPv6Address):
            raise ValueError("has no IPv6 address within the brackets")
        return str(ip)
    if ":" in text:
        raise ValueError("has an IPv6 address without brackets" if ip else "is not a host and a port")
    if ip is None and (re.fullmatch(r"[0-9.]+", text) or not _is_name(text)):
        raise ValueError("has no valid host")
    return text


def _is_name(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    return len(text) <= 253 and all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}", label) for label in labels)


@lru_cache  # each connection to an array asks
def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    _, percent, scope = text.partition("%")
    if percent and not re.fullmatch(_SCOPE, scope):
        return None  # the standard library takes any text for a scope
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


RemoteAddress = Annotated[Address, reader(parse_address, _ADDRESS_REMEDY), shape("address", _ADDRESS_PATTERN)]
"""Where to connect to: a name or an IP address."""
DialledAddress = Annotated[Address, reader(parse_remote, _ADDRESS_REMEDY), shape("address", _ADDRESS_PATTERN)]
"""The same, but not 0.0.0.0 or [::]."""
ListenAddress = Annotated[Address, reader(parse_listen, _LISTEN_REMEDY), shape("IP address and port", _LISTEN_PATTERN)]
"""Where to listen: an IP address of this host."""
