"""A target that stops within a long text of addresses: its initiator waits for it no longer than directly."""

import pytest

from proxy.iscsi.pdu import Opcode
from proxy.iscsi.record import DATA_MAX
from tests.integration.bed.ends import Array, Arrival, connect, hears
from tests.integration.bed.sites import Bed, configure, drain, logged, run
from tests.unit.iscsi.pdus import login, login_answer, pdu, text

ADDRESS = "10.1.0.5:3260"
LOGIN = login(text(InitiatorName="iqn.2024-01.org.example:a", SessionType="Discovery"))
NAMES = b"".join(text(TargetName=f"iqn.2024-01.org.example:{number:05}") for number in range(1000))


def answer() -> bytes:
    return pdu(Opcode.TEXT_RESPONSE, data=text(TargetAddress=ADDRESS) + NAMES)


class Hesitant(Array):
    """Answers a login; then sends part of a long text, stops until it hears one byte, and sends the rest."""

    def __init__(self, cut: int) -> None:
        super().__init__(self._converse)
        self._cut = cut

    def _converse(self, arrival: Arrival) -> None:
        connection = arrival.connection
        connection.recv(len(LOGIN))
        connection.sendall(login_answer())
        connection.sendall(answer()[: self._cut])
        arrival.data += connection.recv(48)
        connection.sendall(answer()[self._cut :])
        arrival.data += connection.recv(48)


@pytest.mark.parametrize("cut", [DATA_MAX // 2, -1])
def test_what_has_come_goes_on(bed: Bed, cut: int) -> None:
    """While the target rests, its initiator gets all that has come, as it was, and then the rest."""
    assert DATA_MAX < len(NAMES) < 256 << 10
    with Hesitant(cut) as target:
        pair = bed.pair(target.address)
        configure(pair.east, "forward", f'portal = "{ADDRESS}"\n')
        run(*pair.sites)
        with connect(pair.entrance) as initiator:
            initiator.sendall(LOGIN)
            hears(initiator, login_answer() + answer()[:cut])
            logged(pair.east, "is not looked at")
            initiator.sendall(pdu(Opcode.NOP_OUT))
            hears(initiator, answer()[cut:])
        drain(*pair.sites)
