"""What a volume costs on the wire that the far site has already, when it is written otherwise than before."""

from collections.abc import Iterator

from bench.datasets import Dataset
from bench.goals import Goal
from bench.overiscsi.stage import KIB, MIB, PROTOCOLS, Cost, Writer, by_ours, by_qemu, standing
from bench.overwan.bench import Bench
from bench.overwan.results import Figure

MOST = 1.0
"""Percent of the plain bytes."""
HEADER = 6.0
"""Bytes on the wire for a PDU's header."""
FIRST = by_qemu(1, MIB)
FIRST_TEXT = "first: qemu-img, 1 MiB"
PASSES: dict[tuple[str, str], Writer] = {
    # name, what is different: how it is written
    ("qemu-img", "as before"): FIRST,
    ("qemu-img", "64 KiB"): by_qemu(1, 64 * KIB),
    ("qemu-img -m 16", "1 MiB"): by_qemu(16, MIB),
    ("qemu-img -m 16", "64 KiB"): by_qemu(16, 64 * KIB),
    ("qemu-img -m 16", "64 KiB, header digests"): by_qemu(16, 64 * KIB, "crc32c"),
    ("ours", "1 MiB, PDUs of 8 KiB"): by_ours(MIB, pdu=8 * KIB),
    ("ours", "1 MiB, both digests"): by_ours(MIB, digests=True),
    ("ours", "1 MiB shuffled"): by_ours(MIB, shuffled=True),
    ("ours", "64 KiB shuffled"): by_ours(64 * KIB, shuffled=True),
    ("ours", "64 KiB shuffled, 8 KiB, digests"): by_ours(64 * KIB, shuffled=True, pdu=8 * KIB, digests=True),
}


def second_pass(bench: Bench) -> Iterator[Figure]:
    """The first pass by qemu-img in order, then each of the others."""
    size = max(16 * MIB, round(128 * MIB * bench.scale) >> 20 << 20)
    image = bench.directory / "volume"
    with image.open("wb") as opened:
        opened.writelines(Dataset("second pass", size))
    passes = dict(list(PASSES.items())[: bench.lines])
    costs: dict[str, list[Cost]] = {}
    for protocol in PROTOCOLS:
        with standing(bench.directory / f"second-{protocol}", protocol, size) as stage:
            bench.tell(f"{protocol}, {FIRST_TEXT}")
            found = costs.setdefault(protocol, [stage.cost(image, FIRST)])
            for (who, how), write in passes.items():
                bench.tell(f"{protocol}, {who}, {how}")
                found.append(stage.cost(image, write))
    image.unlink()
    names = [("qemu-img", FIRST_TEXT), *passes]
    for number, ((who, how), tcp, iscsi) in enumerate(zip(names, *costs.values(), strict=True)):
        yield judged(who, how, tcp, iscsi, warm=bool(number))


def judged(who: str, how: str, tcp: Cost, iscsi: Cost, *, warm: bool) -> Figure:
    """The line of the table; goals are those of a pass that is not the first."""
    goals = [Goal("iscsi", iscsi.share, MOST, False, "%")] if warm else []
    if warm and iscsi.header is not None:
        goals.append(Goal("header of a PDU", iscsi.header, HEADER, False, "bytes"))
    return Figure(who, how, Cost.values(tcp, iscsi), tuple(goals), tcp.identical and iscsi.identical)
