"""Which host is behind an address, so that one is bounded as a whole, whatever addresses it speaks from."""

from ipaddress import IPv6Address, ip_address


def host_of(address: str) -> str:
    """The numeric address itself; for IPv6 the network that one host has, but for ::1. What is none stays as it is."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if not isinstance(found, IPv6Address) or found.is_loopback:
        return str(found)
    return str(IPv6Address(int(found) >> 64 << 64))
