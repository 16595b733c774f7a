"""The far site has lost what the near one believes it to hold: what batches name is filled, the tunnel lives on."""

import random
import socket
from collections.abc import Iterable

from bench.sites import Address
from tests.integration.bed.ends import Array, Arrival, connect, swallow, whole
from tests.integration.bed.sites import Bed
from tests.patience import PATIENCE
from tests.unit.iscsi.pdus import command, data_out, login, login_answer, text, write_10
from tests.unit.reduction.sites import noise

KIB = 1 << 10
LOGIN = login(text(InitiatorName="iqn.2026-11.example:a", TargetName="iqn.2026-11.example:b"))
COUNT = 120


def target(arrival: Arrival) -> None:
    """Let the initiator in, and take everything."""
    arrival.data += arrival.connection.recv(len(LOGIN), socket.MSG_WAITALL)
    arrival.connection.sendall(login_answer())
    swallow(arrival)


def initiate(commands: bytes, address: Address) -> None:
    """Log in, send these, and end."""
    with connect(address, PATIENCE) as connection:
        connection.sendall(LOGIN)
        connection.recv(len(login_answer()), socket.MSG_WAITALL)
        connection.sendall(commands)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1):
            pass


def written(volume: Iterable[tuple[int, bytes]]) -> bytes:
    """Commands that write these at their addresses."""
    return b"".join(
        command(tag, write_10(at // 512, len(data) // 512)) + data_out(tag, data)
        for tag, (at, data) in enumerate(volume)
    )


def begun(length: int) -> bytes:
    """Keys, and after each so many bytes of a chunk of the greatest length, at places of the volume of their own."""
    return written(
        write
        for number in range(COUNT)
        for write in (
            (number << 20, noise(4 * KIB, number)),
            (number * 1024 + 512 << 10, bytes((number,)) * length),
        )
    )


def test_batches_that_name_much_for_little(bed: Bed) -> None:
    """A few KiB of each long chunk: a batch names many times what it delivers, and all of it has to be filled."""
    noises = random.Random(77)
    evicting = written((at << 20, noises.randbytes(1 << 20)) for at in range(1000, 1080))
    with Array(target) as array:
        stores = ({"mode": "memory", "size": "512MiB"}, {"mode": "memory", "size": "64MiB"})
        pair = bed.pair(array.address, stores=stores)
        with pair.running():
            for number, content in enumerate((begun(64 * KIB), evicting, begun(4608))):
                initiate(content, pair.entrance)
                whole(LOGIN + content, array.arrival(number).wait())
            assert pair.west.status()["bytes"]["misses"] > COUNT
