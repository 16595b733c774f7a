"""An array that writes and reads one byte at a time: right, and at a bounded cost.

The bounds are what a pair may cost at worst, not what it should: CPU a byte is that of some system calls and a batch,
and the wire has at most some hundred bytes for each.
"""

from bench.sites import Site
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array, connect, echo, hears, whole
from tests.integration.bed.sites import Bed, processor_seconds, wire_bytes

COUNT = 2000
SECONDS_A_BYTE = 0.002
WIRE_A_BYTE = 400


def test_one_byte_at_a_time(bed: Bed) -> None:
    """Each byte is answered before the next one goes, so none can travel together with another."""
    content = volume("bytes", COUNT)

    with Array(echo) as array, bed.pair(array.address).running() as pair:
        before = [cost(site) for site in pair.sites]
        with connect(pair.entrance) as near:
            for at in range(COUNT):
                near.sendall(content[at : at + 1])
                hears(near, content[at : at + 1])
        array.arrival().wait()
        for site, (seconds, wire) in zip(pair.sites, before, strict=True):
            assert cost(site)[0] - seconds < SECONDS_A_BYTE * COUNT
            assert cost(site)[1] - wire < WIRE_A_BYTE * COUNT


def test_a_flood_of_tiny_writes(bed: Bed) -> None:
    """Nobody waits: what comes in one go travels together, so it costs far less."""
    content = volume("flood", 30_000)
    with Array() as array, bed.pair(array.address).running() as pair:
        before = wire_bytes(pair.east)
        with connect(pair.entrance) as near:
            for at in range(len(content)):
                near.sendall(content[at : at + 1])
            near.shutdown(1)
            assert near.recv(100)
        whole(content, array.arrival().wait())
        assert wire_bytes(pair.east) - before < WIRE_A_BYTE * len(content) / 2


def cost(site: Site) -> tuple[float, int]:
    """CPU seconds and bytes on the wire so far."""
    return processor_seconds(site), wire_bytes(site)
