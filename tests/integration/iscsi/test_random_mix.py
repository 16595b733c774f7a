"""Connection after connection, each with other wishes, reads and writes at random, many at once: the volume is right.

A picture of the volume in memory is the oracle. Much of what is written was written before, at this place or another,
so that references, slices and literals alternate, in PDUs and commands of any size.
"""

from random import Random

import pytest

from bench.initiator import cdb
from bench.initiator.initiator import Initiator, Task
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import same
from tests.integration.iscsi.stage import Stage

pytestmark = [pytest.mark.root, pytest.mark.serial]

SIZE = 8 << 20
"""The part of the unit that is used."""
COUNTS = (1, 2, 8, 16, 33, 128, 256, 700)
"""Sectors of a command."""
PDUS = (512, 1004, 4096, 8192, 65536, 262144)
CONNECTIONS, ROUNDS, DEPTH = 12, 6, 10


@pytest.fixture(scope="module")
def picture() -> bytearray:
    """What the unit has, whatever way it came there."""
    return bytearray(SIZE)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_mix(stage: Stage, picture: bytearray, protocol: str, seed: int) -> None:
    draw = Random(seed)
    for _ in range(CONNECTIONS):
        with stage.initiator(protocol, **wishes(draw)) as initiator:
            initiator.ready(1)
            for _ in range(draw.randint(1, ROUNDS)):
                some_commands(initiator, picture, draw)
            if draw.random() < 0.5:
                assert initiator.logout() == 0
    with stage.target.units[0].open("rb") as unit:
        same(picture, unit.read(SIZE))


def wishes(draw: Random) -> dict[str, object]:
    return {
        "send": draw.choice((*PDUS, 1000)),
        "receive": draw.choice(PDUS),
        "initial_r2t": draw.random() < 0.5,
        "immediate": draw.random() < 0.5,
        "first_burst": draw.choice((512, 4096, 65536)),
        "header_digest": draw.choice(("None", "CRC32C")),
        "data_digest": draw.choice(("None", "CRC32C")),
    }


def some_commands(initiator: Initiator, picture: bytearray, draw: Random) -> None:
    """At once, none where another one is; then all of them are waited for."""
    reads: list[tuple[Task, slice]] = []
    writes: list[tuple[Task, slice]] = []
    for start, count in places(draw):
        where = slice(start * cdb.SECTOR, (start + count) * cdb.SECTOR)
        if draw.random() < 0.6:
            make = draw.choice((cdb.write, cdb.write_long))
            writes.append((initiator.submit(1, make(start, count), content(draw, count)), where))
        else:
            make = draw.choice((cdb.read, cdb.read_long))
            reads.append((initiator.submit(1, make(start, count), expect=count * cdb.SECTOR), where))
    initiator.wait(*(task for task, _ in (*reads, *writes)))
    assert all(task.status == cdb.GOOD for task, _ in (*reads, *writes))
    for task, where in reads:
        same(picture[where], task.received)
    for task, where in writes:
        picture[where] = task.data


def places(draw: Random) -> list[tuple[int, int]]:
    """Runs of sectors that do not overlap, some of them beginning where a command of bulk would."""
    found: list[tuple[int, int]] = []
    for _ in range(draw.randint(1, DEPTH)):
        count = draw.choice(COUNTS)
        start = draw.randrange(SIZE // cdb.SECTOR - count)
        if draw.random() < 0.4:
            start -= start % 128
        if all(start + count <= other or other + length <= start for other, length in found):
            found.append((start, count))
    return found


def content(draw: Random, count: int) -> bytes:
    """New bytes, or a part of something known, mostly of whole pages."""
    length = count * cdb.SECTOR
    if draw.random() < 0.3:
        return draw.randbytes(length)
    start = draw.randrange((1 << 20) - length)
    known = volume(f"known {draw.randrange(3)}", 1 << 20)
    return known[start - start % 4096 if draw.random() < 0.7 else start :][:length]
