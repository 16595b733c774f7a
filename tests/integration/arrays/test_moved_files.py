"""Files that moved on their volume are found, though each window of the volume now cuts them elsewhere.

The stores are on disk and the sites have been started anew: what the near site compares with has to be loaded. The
initiator is a script of PDUs, and what it says is compared by the receipt.
"""

import random
import time
from collections.abc import Iterator

from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed, drain, run, wire_bytes
from tests.unit.iscsi.pdus import command, data_out, login, write_10

KIB, MIB = 1 << 10, 1 << 20
COMMAND = 256 * KIB
PDU = 64 * KIB
PAUSE = 0.01
"""Seconds between commands: the disk need not be quicker than the initiator."""
MOST = 0.3
"""Of the bytes that may cross. It is 0.15, and 0.75 without slices of what is stored."""


def test_after_a_restart(bed: Bed) -> None:
    dice = random.Random(8)
    files = [dice.randbytes(4096 * dice.randrange(1, 300)) for _ in range(40)]
    before = b"".join(files)
    dice.shuffle(files)
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "256MiB"})
        run(*pair.sites)
        replicate(before, pair.entrance)
        drain(*pair.sites)
        run(*pair.sites)
        pair.east.wait_prepared()  # until then the store's worker has no time to load
        sent = wire_bytes(pair.east)
        replicate(b"".join(files), pair.entrance)
        assert (wire_bytes(pair.east) - sent) / len(before) < MOST
        drain(*pair.sites)


def replicate(volume: bytes, entrance: tuple[str, int]) -> None:
    """Write it all, in order."""
    content = list(said(volume))
    sending = send(content, entrance, lambda _: time.sleep(PAUSE))
    whole(receipt(b"".join(content)), sending)


def said(volume: bytes) -> Iterator[bytes]:
    """A login, and commands with their data."""
    yield login()
    for tag, at in enumerate(range(0, len(volume), COMMAND)):
        data = volume[at : at + COMMAND]
        out = [data_out(tag, data[n : n + PDU], n) for n in range(0, len(data), PDU)]
        yield command(tag, write_10(at // 512, len(data) // 512)) + b"".join(out)
