"""Which host is behind an address, so that limits hold for a host as a whole, whichever of its addresses it uses."""

from ipaddress import IPv6Address, ip_address


def host_of(address: str) -> str:
    """The IPv4 address, also of a mapped one; ::1; for other IPv6 addresses the /64 network, which one host has for
    itself. Text that is no address is returned as it is."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if not isinstance(found, IPv6Address) or found.is_loopback:
        return str(found)
    return str(IPv6Address(int(found) >> 64 << 64))
