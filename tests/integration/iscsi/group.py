"""A group of arrays as initiators see it: one address, which lists portals and sends every normal login to a member."""

import struct
from collections.abc import Iterator, Sequence

from bench.sites import Address
from proxy.iscsi.keys import pairs
from proxy.iscsi.pdu import OPCODE_MASK, TASK_TAG, Opcode
from tests.integration.bed.ends import Array, Arrival
from tests.integration.bed.sites import text_of
from tests.unit.iscsi.pdus import pdu, text

_REDIRECT = 0x0101
"""Status of a Login Response: the target has moved for now (RFC 7143, 11.13.5)."""


class Group(Array):
    """Redirects every login to `member`; discovery names the target at each of `portals`."""

    def __init__(self, address: Address, target: str, member: Address, portals: Sequence[Address]) -> None:
        super().__init__(self._converse, address=address)
        self._moved = text(TargetAddress=text_of(member))
        self._targets = text(TargetName=target)
        self._targets += b"".join(text(TargetAddress=f"{text_of(portal)},1") for portal in portals)

    def _converse(self, arrival: Arrival) -> None:
        for number, (header, keys) in enumerate(_requests(arrival)):
            arrival.connection.sendall(self._answer(header, keys, number))

    def _answer(self, header: bytes, keys: dict[str, str], number: int) -> bytes:
        expected = int.from_bytes(header[24:28]) + (not header[0] & 0x40)  # immediate PDUs have no number of their own
        counters = struct.pack(">III", number, expected, expected)
        tag = int.from_bytes(header[TASK_TAG])
        match header[0] & OPCODE_MASK:
            case Opcode.LOGIN_REQUEST if keys.get("SessionType") == "Discovery" or "SessionType" not in keys:
                answer = text(AuthMethod="None") if "AuthMethod" in keys else b""
                return _login(header, tag, counters, 0, answer)
            case Opcode.LOGIN_REQUEST:
                return _login(header, tag, counters, _REDIRECT, self._moved)
            case Opcode.TEXT_REQUEST:
                return pdu(Opcode.TEXT_RESPONSE, tag=tag, rest=b"\xff" * 4 + counters, data=self._targets)
        return pdu(Opcode.LOGOUT_RESPONSE, tag=tag, rest=bytes(4) + counters)


def _login(header: bytes, tag: int, counters: bytes, status: int, data: bytes) -> bytes:
    names = int.from_bytes(header[8:14] + b"\0\1")
    rest = bytes(4) + counters + status.to_bytes(2)
    return pdu(Opcode.LOGIN_RESPONSE, 0 if status else header[1], lun=names, tag=tag, rest=rest, data=data)


def _requests(arrival: Arrival) -> Iterator[tuple[bytes, dict[str, str]]]:
    """Header and keys of each PDU, until the initiator leaves."""
    with arrival.connection.makefile("rb") as stream:
        while len(header := stream.read(48)) == 48:
            length = int.from_bytes(header[5:8])
            yield header, dict(pairs(stream.read(length + (-length & 3))[:length]))
