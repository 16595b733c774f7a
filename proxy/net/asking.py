"""Writes and reads what an OPEN asks for: an export, or one address in an export's range (PROTOCOL.md, "Portals")."""

from collections.abc import Mapping

from proxy.config.addresses import Address, parse_address
from proxy.config.model import Export

_AT = "@"
"""Stands between the export's name and the address; no export's name contains it."""


class NotExported(Exception):
    """The peer may not have what it asks for; the message says why."""

    def __init__(self, why: str, told: str | None = None) -> None:
        """`why`: the reason for our log; `told`: the reason that the peer is given, by default the same."""
        super().__init__(why)
        self.told = told or why


def asked(export: str, portal: Address | None) -> str:
    """The text of an OPEN that asks for an export, or for the address `portal` in its range."""
    return export if portal is None else f"{export}{_AT}{portal}"


def names_address(asked_for: str) -> bool:
    """True if the text of an OPEN asks for an address in an export's range."""
    return _AT in asked_for


def granted(exports: Mapping[str, Export], peer: str, asked_for: str) -> tuple[Export, Address]:
    """The export that the peer asks for, and the address to connect to. Raises NotExported."""
    name, at, text = asked_for.partition(_AT)
    export = exports.get(name)
    told = f"{asked_for!r} is not exported to {peer}"  # it is not told which exports others have
    if export is None:
        raise NotExported(f"{asked_for!r} is not exported", told)
    if peer not in export.peers:
        raise NotExported(told)
    return export, _within(export, text) if at else export.address


def _within(export: Export, text: str) -> Address:
    try:
        address = parse_address(text)
    except ValueError:
        raise NotExported(f"{text!r} is not an address") from None
    if export.range is None or not export.range.covers(address):
        raise NotExported(f"{address} is not in a range of export {export.name}")
    return address
