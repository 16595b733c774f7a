"""What a file system costs on the wire whose files the far site knows, but at other places or in another version.

An image is written after another one of the same kind. What it costs is compared with zstd alone, and with chunks cut
from plain TCP. Both images are written one command after the other, or eight at once, whose data comes in another
order.
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
    """For each kind and change: what the changed image costs after the first one, in percent of its size."""
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
    """The table's line. It has no goal."""
    values = {"zstd -3": quick, "-12 --long": thorough, "tcp": tcp.share, "iscsi": iscsi.share}
    return Figure(kind, name, values, (), tcp.identical and iscsi.identical)


def _pass(bench: Bench, protocol: str, write: Writer, first: Path, other: Path) -> Cost:
    """Write both images through a new pair, since all that its stores know counts; the cost is the second image's."""
    with standing(bench.directory, protocol, SIZE) as stage:
        before = stage.cost(first, write)
        cost = stage.cost(other, write)
        return Cost(cost.share, cost.header, before.identical and cost.identical)


def compressed_share(image: Path, level: int) -> float:
    """What zstd leaves of the image at that level, in percent of its size."""
    return 100 * compressed([image.read_bytes()], level) / image.stat().st_size
