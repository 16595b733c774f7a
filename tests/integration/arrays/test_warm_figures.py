"""What a second pass costs on the wire, with either store: the figures of the promise, measured on real sites.

64 or 128 MiB that do not compress. The same writes again: at most 0.6 % of the plain bytes. Other writes with pauses
between them: at most 1.5 %. One byte inserted before everything: at most 0.6 %. And, with the disk store, the same
after both sites were restarted.
"""

import time

import pytest

from tests.integration.bed.contents import cut, cut_at_random, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed, Pair, drain, run, wire_bytes

SAME, OTHERWISE, INSERTED = 0.006, 0.015, 0.006
STORE_SIZE = "256MiB"


@pytest.mark.parametrize("mode", ["memory", "disk"])
def test_second_passes(bed: Bed, mode: str) -> None:
    content = volume("content", 64 << 20)
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": mode, "size": STORE_SIZE})
        run(*pair.sites)
        assert cost(pair, content) > 0.99
        assert cost(pair, content) < SAME
        assert cost(pair, content, pauses=True) < OTHERWISE
        assert cost(pair, b"!" + content) < INSERTED
        drain(*pair.sites)


def test_after_a_restart(bed: Bed) -> None:
    """Twice as much, for until the first containers are loaded a pause costs literal bytes."""
    content = volume("content", 128 << 20)
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": STORE_SIZE})
        run(*pair.sites)
        cost(pair, content)
        drain(*pair.sites)
        run(*pair.sites)
        assert cost(pair, content) < SAME
        drain(pair.west)
        pair.west.start()
        pair.east.wait_up()
        assert cost(pair, content, pauses=True) < OTHERWISE
        drain(*pair.sites)


def cost(pair: Pair, content: bytes, *, pauses: bool = False) -> float:
    """Bytes on the wire for each plain one."""
    before = wire_bytes(pair.east)
    if pauses:
        sending = send(cut_at_random(content, 300_000), pair.entrance, pause)
    else:
        sending = send(cut(content, 256 << 10), pair.entrance)
    whole(receipt(content), sending)
    return (wire_bytes(pair.east) - before) / len(content)


def pause(number: int) -> None:
    """Longer than a loop's turn, so that the site sees that nothing more is there."""
    time.sleep(0.002)
