"""What `isthmus analyze` found, as tables for a terminal."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from dedupstore.chunker import AVERAGE
from proxy.cli.cells import Narrowed, headed_table, milliseconds, number, plain, rate, size
from proxy.cli.plan_report import way_cells
from proxy.config.units import show_size

BAR = 30
"""Characters of the longest bar."""
NO_GAIN = 0.97
"""Share that crosses the line from which on reduction gains nothing to speak of."""
REPEATS = 0.001
"""Share that repeats below which nobody needs a store for it."""


def report(found: dict[str, Any]) -> Iterator[RenderableType]:
    """All parts."""
    yield _savings(found)
    yield Narrowed(_chunk_sizes(found), {"Chunks"})
    yield _stores(found["store"])
    yield from _advice(found)
    for line in found["lines"]:
        yield _times(line)
        for note in line["notes"]:
            yield plain(f"! {note}", "yellow")
    yield from _remarks(found["remarks"])


def _savings(found: dict[str, Any]) -> Table:
    compression, crosses = found["compression"], found["crosses_the_line"]
    table = headed_table("Data", size(found["bytes"]))
    table.add_row("repeats itself: deduplication saves", _percent(found["deduplication"]))
    table.add_row("of the rest, compression saves on a fast line", _percent(compression["fast_line"]))
    table.add_row("  and on a slow line, or more", _percent(compression["slow_line"]))
    table.add_row("crosses a fast line, if all of it is new", _percent(crosses["new_fast_line"]))
    table.add_row("crosses a slow line, if all of it is new", _percent(crosses["new_slow_line"]))
    table.add_row("crosses the line when the far side holds it, at most", _percent(crosses["known"]))
    table.add_row("zlib alone would save, without deduplication", _percent(found["compressibility"]))
    return table


def _chunk_sizes(found: dict[str, Any]) -> Table:
    table = headed_table("Chunk size", "Chunks", "Repeats", "New", "1 % changed", "Known", "")
    for each in found["chunk_sizes"]:
        table.add_row(
            size(each["average"]),
            number(each["chunks"]),
            _percent(each["duplicates"]) + _margin(each),
            _percent(each["crosses_the_line"]),
            _percent(each["updated"]),
            _percent(each["known"]),
            "best" if each["average"] == found["best_chunk_size"] else "",
        )
    return table


def _stores(store: dict[str, Any]) -> Table:
    hits = store["finds_while_replicated_once"]
    table = headed_table("Store", "Finds, while all is replicated once", "")
    largest = max((each["share"] for each in hits), default=0.0)
    for each in hits:
        bar = "█" * round(BAR * each["share"] / largest) if largest else ""
        table.add_row(size(each["size"]), _percent(each["share"]), bar)
    return table


def _advice(found: dict[str, Any]) -> Iterator[RenderableType]:
    store = found["store"]
    yield plain(
        "What crosses a slow line: new, if the far side holds nothing of it; 1 % changed, if it holds all but that;"
        " known, if it holds all. That is the most: it names each chunk by itself. What comes in the same order as"
        " before is named in runs, which takes less."
    )
    if found["crosses_the_line"]["new_slow_line"] > NO_GAIN:
        yield plain("Hardly compresses or repeats: is it encrypted or compressed already? Only what is known is saved.")
    yield plain(
        "Best: the largest size that sends hardly more than any other; small chunks cost CPU and memory."
        f" {_to_have(found['best_chunk_size'])}"
    )
    if found["deduplication"] > REPEATS:
        yield plain(f"A store of {size(store['enough_for_once'])} finds nearly all that repeats within the data.")
    yield plain(
        f"A store of {size(store['enough_for_all'])} holds all of it, so that little crosses the line when it is"
        " replicated again; a smaller one has forgotten the beginning by then, and finds hardly anything."
    )
    if any(each["sampled"] < 1 for each in found["chunk_sizes"]):
        yield plain("Repeats marked ± are estimated from a sample of the chunks, to bound the memory that this takes.")
    measured = found["compression"]["measured_on"], found["compression"]["compressibility_measured_on"]
    yield plain(f"Compression was measured on {size(measured[0])} of new data, zlib on {size(measured[1])}.")
    yield plain("")


def _to_have(average: int) -> str:
    """What to do about the best chunk size."""
    if average == AVERAGE:
        return "A site has it by default."
    sizes = {"minimum": average // 4, "average": average, "maximum": average * 4}
    values = ", ".join(f'{name} = "{show_size(length)}"' for name, length in sizes.items())
    return f"To have it, set {values} in [chunking] at both sites."


def _times(line: dict[str, Any]) -> Table:
    figures = f"{rate(line['rate'])}, {milliseconds(line['round_trip'])}, {_percent(line['loss'])} loss"
    table = headed_table(figures, "Takes", "On the line")
    for way in line["replication"]:
        table.add_row(*way_cells(way))
    return table


def _remarks(remarks: dict[str, Any]) -> Iterator[RenderableType]:
    for reason, count in remarks["passed_over"].items():
        yield plain(f"! not read, {count:,}: {reason}", "yellow")
    if remarks["changed"]:
        yield plain(f"! changed while they were read: {remarks['changed']:,} files", "yellow")
    for example in remarks["examples"]:
        yield plain(f"  {example}", "yellow")


def _margin(each: dict[str, Any]) -> str:
    return f" ± {each['margin'] * 100:.1f}" if each["sampled"] < 1 else ""


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %" if share < 0.1 else f"{share * 100:.1f} %"
