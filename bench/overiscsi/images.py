"""File systems that the far site knows in another shape: files at other places, or another version of them.

What the second image costs on the wire is held against zstd alone, and against chunks cut from plain TCP; both images
are written one command after the other, or several at once, whose data then comes in another order.
"""

from collections.abc import Iterator
from pathlib import Path

from bench.array import ArrayFailure
from bench.case_results import Figure
from bench.cases import Bench
from bench.compressed import compressed
from bench.overiscsi.filesystems import CHANGES, KINDS, SIZE, Kind, keep, lacking, make
from bench.overiscsi.stage import MIB, PROTOCOLS, Cost, Writer, by_ours, by_qemu, standing

ORDERS = {"in order": by_qemu(1, MIB), "8 at once": by_ours(MIB)}


def images(bench: Bench) -> Iterator[Figure]:
    """Each changed image after the first one of its kind; what it costs in percent of the volume."""
    if reason := lacking():
        raise ArrayFailure(f"no file systems: {reason}")
    for kind in KINDS[: bench.lines]:
        yield from _kind(bench, kind)


def _kind(bench: Bench, kind: Kind) -> Iterator[Figure]:
    first, other = bench.directory / "first.image", bench.directory / "other.image"
    make(kind, keep, first)
    for name, change in CHANGES.items():
        make(kind, change, other)
        alone = compressed_share(other, 3), compressed_share(other, 12)
        for order, write in ORDERS.items():
            what = f"{name}, {order}"
            bench.tell(f"{kind.name}, {what}")
            yield judged(kind.name, what, *alone, *(_pass(bench, each, write, first, other) for each in PROTOCOLS))
        other.unlink()
    first.unlink()


def judged(kind: str, name: str, quick: float, thorough: float, tcp: Cost, iscsi: Cost) -> Figure:
    """The line of the table: a statement, without a goal."""
    values: dict[str, float | None] = {"zstd -3": quick, "-12 --long": thorough, "tcp": tcp.share, "iscsi": iscsi.share}
    return Figure(kind, name, values, (), tcp.identical and iscsi.identical)


def _pass(bench: Bench, protocol: str, write: Writer, first: Path, other: Path) -> Cost:
    """A pair of its own for each: what was written before decides."""
    with standing(bench.directory / protocol, protocol, SIZE) as stage:
        before = stage.cost(first, write)
        cost = stage.cost(other, write)
        return Cost(cost.share, cost.header, before.identical and cost.identical)


def compressed_share(image: Path, level: int) -> float:
    """Percent of the image that zstd leaves of it."""
    return 100 * compressed([image.read_bytes()], level) / image.stat().st_size
