"""Replaces portal addresses that a target names in its texts (RFC 7143, 13.8) by those that reach them from this side.

A target names portals in answers to SendTargets (appendix C) and when it says that it "moved" (11.13.5). All else in a
text stays as it is. An address that is split over two PDUs, or in a text that would not fit into the initiator's
MaxRecvDataSegmentLength any more, passes unchanged: nobody can make another PDU of it without an answer that the target
never asked for.
"""

import ipaddress
import re
from typing import NamedTuple, Protocol

from proxy.iscsi.keys import VALUE_MAX
from proxy.iscsi.pdu import CONTINUED

DEFAULT_PORT = 3260
"""The port of a portal that names none (13.8)."""
_KEY = b"TargetAddress="
_TAIL_MAX = 1024
"""Bytes that are remembered of a key and value that go on in the next PDU: an address is shorter."""
_VALUE = re.compile(rb"(\[[^\[\],\0]+\]|[^\[\]:,\0]+)(?::([0-9]{1,5}))?(,[^\0]*)?")


class Portal(NamedTuple):
    """A host (an IP address in its shortest form without brackets, or a name in lower case) and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class NearPortals(Protocol):
    """Knows the addresses by which portals are reached from this side. Called on the loop thread."""

    def instead(self, named: Portal) -> Portal | None:
        """The portal that the initiator is told in place of this one; None: this one stays."""

    def replaced(self, number: int) -> None:
        """`number` addresses of a text were replaced."""

    def passed(self, reason: str) -> None:
        """Addresses pass unchanged though one might have been replaced."""


class PortalTexts:
    """The texts of one target. Loop thread."""

    def __init__(self, portals: NearPortals) -> None:
        self._portals = portals
        self._tail = b""  # the key and value at the end of the last PDU, if they go on in the next one

    def rewritten(self, header: bytes, text: bytes, most: int) -> bytes:
        """The text of a Login or Text Response as the initiator is to get it; `most`: bytes that it takes."""
        continued = bool(header[1] & CONTINUED)
        pairs = text.split(b"\0")
        told = pairs.copy()
        number = 0
        for at in range(bool(self._tail), len(pairs) - continued):
            instead = self._instead(pairs[at])
            if instead is not None:
                told[at] = instead
                number += 1
        self._follow(pairs, continued=continued)
        new = b"\0".join(told)
        if len(new) <= max(most, len(text)):
            self._portals.replaced(number)
            return new
        self._portals.passed(f"with other addresses a text would be longer than the {most} bytes that are taken")
        return text

    def unread(self, length: int, reason: str) -> None:
        """A text of `length` bytes passes that could not be looked at."""
        self._tail = b""
        self._portals.passed(f"a text of {length} bytes is not looked at: {reason}")

    def _instead(self, pair: bytes) -> bytes | None:
        """The pair that is to be sent in place of this one; None: this one stays."""
        if not pair.startswith(_KEY):
            return None
        found = parse_portal(pair.removeprefix(_KEY))
        if found is None:
            self._portals.passed("an address cannot be read")
            return None
        instead = self._portals.instead(found[0])
        return None if instead is None else _KEY + str(instead).encode() + found[1]

    def _follow(self, pairs: list[bytes], *, continued: bool) -> None:
        """Remember the pair that goes on in the next PDU; report an address that began in the PDU before."""
        whole = self._tail + pairs[0]
        over = len(pairs) > 1 or not continued
        if self._tail and over and whole.startswith(_KEY):
            self._portals.passed("an address is split over two PDUs")
        tail = pairs[-1] if over else whole
        self._tail = tail[:_TAIL_MAX] if continued else b""


def parse_portal(value: bytes) -> tuple[Portal, bytes] | None:
    """The portal in the value of a TargetAddress, and what follows it (a comma and the group's tag, or nothing)."""
    match = _VALUE.fullmatch(value) if len(value) <= VALUE_MAX else None  # it is logged, and remembered
    if match is None:
        return None
    host = _host(match[1])
    port = int(match[2]) if match[2] else DEFAULT_PORT
    return None if host is None or not 1 <= port <= 65535 else (Portal(host, port), match[3] or b"")


def _host(text: bytes) -> str | None:
    """The host in the form of a `Portal`, so that all ways to write an address are equal; None if it is none."""
    try:
        host = text.decode("ascii").lower()
    except UnicodeDecodeError:
        return None
    bare = host.strip("[]")
    try:
        ip = ipaddress.ip_address(bare)
    except ValueError:
        return None if bare != host else host
    return str(ip) if (ip.version == 6) == (bare != host) else None
