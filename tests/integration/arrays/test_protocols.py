"""What a forward makes of a connection, by its `protocol`: which are understood, and what is counted and said.

Whatever it is, all of it arrives.
"""

import struct
from dataclasses import replace
from functools import partial
from typing import Any

from proxy.iscsi.pdu import Opcode
from tests.integration.bed.ends import Array, connect, echo, hears, receipt, send, whole
from tests.integration.bed.sites import Bed, Forward, drain, run
from tests.unit.iscsi.pdus import login, pdu, text

ISCSI = [login(), *3 * [pdu(Opcode.NOP_OUT | 0x40, tag=1, data=b"ping")]]
BROKEN = [*ISCSI, b"\xff" * 100]
OTHER = [b"GET / HTTP/1.1\r\n", b"\r\n"]
UNDERSTOOD = {
    ("auto", "ISCSI"): (4, {}),
    ("auto", "BROKEN"): (4, {"no PDU begins with 0xff": 1}),
    ("auto", "OTHER"): (0, {}),
    ("iscsi", "ISCSI"): (4, {}),
    ("iscsi", "OTHER"): (0, {"no Login Request at the beginning": 1}),
    ("portal", "OTHER"): (0, {"no Login Request at the beginning": 1}),
    ("tcp", "ISCSI"): (0, {}),
    ("tcp", "OTHER"): (0, {}),
}
"""By forward, and what comes: PDUs, and reasons why the rest is not understood; one after another."""
PROTOCOLS = {"auto": "auto", "iscsi": "iscsi", "portal": "auto", "tcp": "tcp"}
"""Of the forwards; that of a portal is meant for iSCSI, though it may be anything."""


def test_what_is_understood(bed: Bed) -> None:
    forwards = {name: Forward(name, "west", protocol=protocol) for name, protocol in PROTOCOLS.items()}
    forwards["portal"] = replace(forwards["portal"], portal="10.1.0.5:3260")
    with Array() as array:
        east, west = bed.joined(list(forwards.values()), dict.fromkeys(PROTOCOLS, array.address))
        run(east, west)
        for (forward, kind), expected in UNDERSTOOD.items():
            before = understood(east.status())
            content: list[bytes] = globals()[kind]
            sending = send(content, forwards[forward].address)
            whole(receipt(b"".join(content)), sending, why=partial(str, (forward, kind)))
            assert difference(before, understood(east.status())) == expected, (forward, kind)
        assert "forward iscsi: an iSCSI connection goes on as plain bytes" in east.log.read_text()
        assert understood(west.status())[1] == {"no Login Response at the beginning": 3}  # the array is no target
        drain(east, west)


def test_what_only_looks_like_a_login_arrives(bed: Bed) -> None:
    """Its sender stops and waits for an answer; `auto` is the default, and may be anything."""
    header = login(text(InitiatorName="iqn.i", TargetName="iqn.t"))[:48]
    with Array(echo) as array, bed.pair(array.address).running() as pair:
        for message in (header, header + b"InitiatorNam", struct.pack("<Q", 67) + bytes(67), b"\x43", login()[:-1]):
            with connect(pair.entrance) as connection:
                connection.sendall(message)
                hears(connection, message)


def understood(status: dict[str, Any]) -> tuple[int, dict[str, int]]:
    """PDUs, and directions that went on as plain bytes."""
    return status["bytes"]["pdus"], status["peers"][0]["fallbacks"]


def difference(before: tuple[int, dict[str, int]], after: tuple[int, dict[str, int]]) -> tuple[int, dict[str, int]]:
    """What has been added."""
    reasons = {reason: count - before[1].get(reason, 0) for reason, count in after[1].items()}
    return after[0] - before[0], {reason: count for reason, count in reasons.items() if count}
