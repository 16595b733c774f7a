"""The report of the iSCSI workloads, beside the published rows."""

from collections.abc import Iterator

from bench.replay.arrays import LINES, NO_LINE, TITLES, WAYS
from bench.replay.document import Notes, Plot, Section, Series, Table, caveat, measured, number, times
from bench.replay.fio import RANDOM, SEQUENTIAL_READ, SEQUENTIAL_WRITE
from bench.replay.results import Results

WORKS = {"read": SEQUENTIAL_READ, "random": RANDOM, "write": SEQUENTIAL_WRITE}
WORDS = {
    "read": "reads in order, 256 KiB",
    "random": "at random, 8 KiB, 67 % reads",
    "write": "writes in order, 64 KiB",
}
ALONE, SEPARATE, MIXED = "alone", "separate", "mixed"
SINGLE = ("1g", "10g", "oc3", NO_LINE)
"""The published lines, a line that every machine carries, and no line."""
POOLS = (("10g", "1g"), ("oc3", "t3"))
"""The published mix of a fast and a slow line, and one that every machine carries."""
HEALTHY = 0.5
"""Percent of the segments that may be sent again."""
FIGURES = {"operations": "IOPS", "throughput": "MB/s", "latency": "ms"}

PUBLISHED: dict[tuple[str, str], dict[str, tuple[float, float, float]]] = {
    ("1g", ALONE): {"write": (3532, 221, 13.6), "read": (860, 215, 74.4), "random": (3652, 28.5, 8.8)},
    ("10g", ALONE): {"write": (4151, 259, 11.6), "read": (3118, 779, 20.5), "random": (3590, 28.1, 8.9)},
    ("10g+1g", SEPARATE): {"write": (7670, 479, 6.3), "read": (3427, 857, 19.8), "random": (5394, 42.1, 5.9)},
    ("10g+1g", MIXED): {"write": (5254, 328, 9.1), "read": (2493, 623, 25.9), "random": (5376, 42.0, 6.0)},
}
"""IOPS, MB/s, ms. Of the last row's random workload only the 42 MB/s are published, not the IOPS."""
TEXT = (
    "fio at work on four volumes through qemu-nbd's initiator. 12, 16 and 8 commands are under way on each volume, as"
    " the published rates and latencies imply. An initiator of 10 Gb before an array of 1 Gb has a line of 1 Gb between"
    " them; published for it: writes 3,531 IOPS, reads 1,354, at random 3,755. With pools of their own two volumes are"
    " behind each line; in a mixed pool every volume is on both, and neither half may be ahead of the other. Sent again"
    " is the share of all TCP segments at both ends, those between the sites and their own arrays included. No site"
    " knows what is read or written: reads, and what is at random, go once over a half of the volumes that is their"
    " own, and end where all of it was read; what is written differs each time. The sites' CPU is that of all of them,"
    " for a command: where a machine carries fio, initiators, arrays and lines as well, it ends at fewer than that"
    " allows."
)


def report(results: Results) -> Iterator[Section]:
    """One section."""
    yield Section(
        "iSCSI workloads",
        TEXT,
        tables=[_table(results, work) for work in WORKS],
        plots=list(_plots(results)),
        findings=list(_findings(results)),
    )


def places() -> list[tuple[str, str]]:
    """Lines and pools, in the order of the tables."""
    return [
        *((line, ALONE) for line in SINGLE),
        *(("+".join(lines), pool) for lines in POOLS for pool in (SEPARATE, MIXED)),
    ]


def title(lines: str, pool: str) -> str:
    """The title of a place."""
    words = " and ".join(TITLES[line] for line in lines.split("+"))
    return {ALONE: words, SEPARATE: f"{words}, pools of their own", MIXED: f"{words}, one mixed pool"}[pool]


def capital(text: str) -> str:
    """The text with a capital first letter; the others stay as they are."""
    return text[:1].upper() + text[1:]


def _table(results: Results, work: str) -> Table:
    notes = Notes()
    rows = []
    for lines, pool in places():
        for way, words in WAYS.items():
            cell = results.cell(f"{way}/{lines}/{pool}/{work}")
            if cell is None:
                continue
            told = PUBLISHED.get((lines, pool), {}).get(work)
            found = [measured(cell.summaries.get(figure), notes, cell) for figure in FIGURES]
            again = measured(cell.summaries.get("sent again"), notes, cell)
            cpu = measured(cell.summaries.get("sites"), notes) if way == "pair" else ""
            ratio = cell.summaries["throughput"].ratio if "throughput" in cell.summaries else None
            published = ", ".join(map(number, told)) if told else ""
            rows.append((f"{title(lines, pool)}, {words}", *found, published, times(ratio) if told else "", again, cpu))
    headings = ("lines", *FIGURES.values(), "published", "ratio", "sent again, %", "sites' CPU, µs")
    return Table(capital(WORDS[work]), headings, rows, notes)


def _plots(results: Results) -> Iterator[Plot]:
    lines = [*LINES, NO_LINE]
    for work in WORKS:
        series = [
            Series(words, [TITLES[line] for line in lines], values)
            for way, words in WAYS.items()
            if any(values := [results.value(f"{way}/{line}/{ALONE}/{work}", "throughput") for line in lines])
        ]
        if series:
            yield Plot(f"workloads-{work}", capital(WORDS[work]), "line", "MB/s", series, kind="bars")


def _findings(results: Results) -> Iterator[str]:
    for lines, pool in places():
        ratios = []
        for work in WORKS:
            alone, ours = (results.value(f"{way}/{lines}/{pool}/{work}", "throughput") for way in WAYS)
            if alone and ours:
                ratios.append(f"{WORDS[work].split(',')[0]} {times(ours / alone)}")
        if ratios:
            but = caveat(results, "throughput", *(f"pair/{lines}/{pool}/{work}" for work in WORKS))
            yield f"{title(lines, pool)}: through Isthmus, compared with directly: {', '.join(ratios)}{but}."
    again = [summary for name, summary in results.summaries() if summary.figure.name == "sent again" and summary.values]
    if again:
        healthy = sum(bool(each.met) for each in again)
        yield f"In {healthy} of {len(again)} cells less than {HEALTHY} % of the TCP segments were sent again."
    for lines in ("+".join(each) for each in POOLS):
        own, mixed = (results.value(f"direct/{lines}/{pool}/write", "throughput") for pool in (SEPARATE, MIXED))
        if own and mixed:
            yield (
                f"Directly, over {title(lines, ALONE)}, writes in pools of their own are {times(own / mixed)} as fast"
                " as in one mixed pool; published, over 10 Gb/s and 1 Gb/s: 1.46x."
            )
