"""What a volume costs on the wire that the far site has already, when it is written otherwise than before.

Each pass follows the first one alone, on sites of their own: what a pass teaches would make the next one cheaper.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.case_results import Figure
from bench.cases import Bench
from bench.datasets import Dataset
from bench.goals import Goal
from bench.overiscsi.stage import KIB, MIB, PROTOCOLS, Cost, Writer, by_ours, by_qemu, standing

MOST = 1.0
"""Percent of the plain bytes."""
HEADER = 6.0
"""Bytes on the wire for a PDU's header."""
FIRST = by_qemu(1, MIB)
FIRST_TEXT = "the first pass, 1 MiB"


class Pass(NamedTuple):
    """How the volume is written."""

    who: str
    how: str
    write: Writer
    steady: bool = False
    """Command after command: its headers should be foreseen."""


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
    """The first pass by qemu-img in order, and each of the others after it."""
    size = max(16 * MIB, round(128 * MIB * bench.scale) >> 20 << 20)
    image = bench.directory / "volume"
    with image.open("wb") as opened:
        opened.writelines(Dataset("second pass", size))
    for number, each in enumerate(PASSES[: bench.lines]):
        (first, again), (first_understood, understood) = (_both(bench, protocol, image, each) for protocol in PROTOCOLS)
        same = first.identical and first_understood.identical
        if not number:
            yield Figure("qemu -m 1", FIRST_TEXT, Cost.values(first, first_understood), (), same)
        figure = judged(each, again, understood)
        yield replace(figure, identical=figure.identical and same)
    image.unlink()


def _both(bench: Bench, protocol: str, image: Path, each: Pass) -> tuple[Cost, Cost]:
    """Of the first pass, and of this one after it."""
    bench.tell(f"{protocol}, {each.who}, {each.how}")
    with (
        TemporaryDirectory(dir=bench.directory) as directory,
        standing(Path(directory), protocol, image.stat().st_size) as stage,
    ):
        return stage.cost(image, FIRST), stage.cost(image, each.write)


def judged(each: Pass, tcp: Cost, iscsi: Cost) -> Figure:
    """The line of the table of a pass that is not the first."""
    goals = [Goal(each.how, iscsi.share, MOST, False, "%")]
    if each.steady and iscsi.header is not None:
        goals.append(Goal(f"{each.how}, header of a PDU", iscsi.header, HEADER, False, "bytes"))
    return Figure(each.who, each.how, Cost.values(tcp, iscsi), tuple(goals), tcp.identical and iscsi.identical)
