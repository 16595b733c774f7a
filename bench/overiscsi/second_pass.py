"""What a volume costs on the wire when it is written once more, but in another way than the first time.

Each second pass runs on a new pair, directly after a first pass there: what one second pass teaches the stores would
make the next one cheaper.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.case_results import Figure
from bench.cases import Bench
from bench.datasets import Dataset
from bench.goals import Goal
from bench.overiscsi.stage import KIB, MIB, PROTOCOLS, Cost, Writer, by_ours, by_qemu, standing

MOST = 1.0
"""Goal: bytes on the wire, in percent of the plain bytes."""
HEADER = 6.0
"""Goal: bytes on the wire for the header of a PDU."""
FIRST = by_qemu(1, MIB)
FIRST_TEXT = "the first pass, 1 MiB"


class Pass(NamedTuple):
    """How a second pass writes the volume."""

    who: str
    how: str
    write: Writer
    steady: bool = False
    """One command follows the other, so its headers should be predicted, and `HEADER` is a goal."""


PASSES = (
    Pass("qemu -m 1", "as before", FIRST, True),
    Pass("qemu -m 1", "64 KiB", by_qemu(1, 64 * KIB), True),
    Pass("qemu -m 16", "1 MiB", by_qemu(16, MIB)),
    Pass("qemu -m 16", "64 KiB", by_qemu(16, 64 * KIB)),
    Pass("qemu -m 16", "64 KiB, header digests", by_qemu(16, 64 * KIB, "crc32c")),
    Pass("ours", "1 MiB, both digests", by_ours(MIB, digests=True), True),
    Pass("ours", "1 MiB, PDUs of 8 KiB", by_ours(MIB, pdu=8 * KIB), True),
    Pass("ours", "1 MiB shuffled", by_ours(MIB, shuffled=True)),
    Pass("ours", "64 KiB shuffled", by_ours(64 * KIB, shuffled=True)),
    Pass("ours", "64 KiB shuffled, PDUs of 8 KiB", by_ours(64 * KIB, shuffled=True, pdu=8 * KIB)),
    Pass("ours", "likewise, no immediate data", by_ours(64 * KIB, shuffled=True, pdu=8 * KIB, immediate=False)),
)


def second_pass(bench: Bench) -> Iterator[Figure]:
    """The first pass, which qemu-img writes in order, and each second pass after one like it."""
    size = bench.bytes(128 * MIB, 16 * MIB)
    image = bench.directory / "volume"
    Dataset("second pass", size).fill(image)
    for number, each in enumerate(PASSES[: bench.lines]):
        (first, again), (first_understood, understood) = (_both(bench, protocol, image, each) for protocol in PROTOCOLS)
        same = first.identical and first_understood.identical
        if not number:
            yield Figure("qemu -m 1", FIRST_TEXT, Cost.values(first, first_understood), (), same)
        figure = judged(each, again, understood)
        yield replace(figure, identical=figure.identical and same)
    image.unlink()


def _both(bench: Bench, protocol: str, image: Path, each: Pass) -> tuple[Cost, Cost]:
    """What a first pass costs, and this pass after it."""
    bench.tell(f"{protocol}, {each.who}, {each.how}")
    with standing(bench.directory, protocol, image.stat().st_size) as stage:
        return stage.cost(image, FIRST), stage.cost(image, each.write)


def judged(each: Pass, tcp: Cost, iscsi: Cost) -> Figure:
    """The table's line of a second pass."""
    goals = [Goal(each.how, iscsi.share, MOST, False, "%")]
    if each.steady and iscsi.header is not None:
        goals.append(Goal(f"{each.how}, header of a PDU", iscsi.header, HEADER, False, "bytes"))
    return Figure(each.who, each.how, Cost.values(tcp, iscsi), tuple(goals), tcp.identical and iscsi.identical)
