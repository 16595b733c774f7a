"""Finds exports that lead back to a forward of this very site.

`proxy.config` refuses those that show in the site's file. This module finds those that depend on the host's addresses:
the forward listens on all of them, and the export's address is one of them.
"""

from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path

from proxy.config.addresses import Address
from proxy.config.model import Export, Forward, SiteConfig
from proxy.errors import ExitCode, OperatorError
from proxy.net.listener import reserve

_BINDS_FOREIGN = "proc/sys/net/ipv{}/ip_nonlocal_bind"
"""Not 0 where addresses of other hosts can be bound as well, as on a standby host."""


def loops(config: SiteConfig, root: Path = Path("/")) -> Iterator[tuple[Export, Forward]]:
    """Each export whose address is this host's, with the forward that, listening on all addresses, listens there.

    What a peer sends to such an export comes back to the peer, or goes round for ever. Names are not looked up, since
    what they stand for may change. `root`: stands for /, for tests.
    """
    for export in config.exports:
        address = _dialled(export.address)
        for forward in config.forwards:
            if _listens_on(forward.listen, address) and _is_own(address, root):
                yield export, forward


def refuse_loops(config: SiteConfig) -> None:
    """Raises OperatorError that names each loop."""
    told = [
        f"export {export.name!r} address = {export.address} is this host itself, where forward {forward.name!r} listens"
        f" ({forward.listen}), which leads on to a peer; write the array's own address"
        for export, forward in loops(config)
    ]
    if told:
        raise OperatorError("\n".join(told), ExitCode.CONFIGURATION)


def _listens_on(listen: Address, address: Address) -> bool:
    everywhere = listen.ip is not None and listen.ip.is_unspecified
    return everywhere and listen.port == address.port and listen.shares_host(address)


def _dialled(address: Address) -> Address:
    """The address as it is dialled: ::ffff:192.0.2.1 as 192.0.2.1."""
    mapped = address.ip.ipv4_mapped if isinstance(address.ip, IPv6Address) else None
    return address if mapped is None else address._replace(host=str(mapped))


def _is_own(address: Address, root: Path) -> bool:
    """True if the address can be bound, as only a host's own ones can. False where foreign ones can be, too."""
    assert address.ip is not None
    try:
        if (root / _BINDS_FOREIGN.format(address.ip.version)).read_text().strip() != "0":
            return False
    except OSError:
        pass  # this kernel knows no such setting
    try:
        reserve(address._replace(port=0)).close()
    except OSError:
        return False
    return True
