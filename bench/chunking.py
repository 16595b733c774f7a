"""`make bench-chunking`: what chunk sizes cost and find, on volumes like those that arrays replicate.

For each average size: the share of bytes that a second pass finds again, in four situations, what naming the chunks
costs on the wire, and how fast one core cuts and names them. The defaults of `[chunking]` rest on this table.
"""

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial

from rich.console import Console

from bench.datasets import PAGE, Dataset
from bench.ending import program
from bench.programs import file_to_write, told
from bench.tables import plain_table
from dedupstore.chunker import Chunker
from dedupstore.fingerprint import fingerprint
from proxy.errors import ExitCode

SIZE = 128 << 20
AVERAGES = (4 << 10, 8 << 10, 16 << 10, 24 << 10, 32 << 10, 64 << 10)
PIECE_BYTES = 512 << 10
"""Bytes that are cut at once; not less than the largest chunk."""
TOKEN_BYTES = 33
"""Bytes that a reference takes on the wire."""


@dataclass(frozen=True, slots=True)
class Row:
    """Percentages are of plain bytes; `found_*` those that need not be sent again."""

    average: int
    found_duplicate_files: float
    found_after_updates: float
    found_after_moves: float
    found_between_headers: float
    references: float
    megabytes_per_second: float


def run() -> list[Row]:
    """Measure every average size."""
    volume = b"".join(Dataset("f5vol2", SIZE, 38, 10))
    versions = {"updates": updated(volume), "moves": moved(volume)}
    framed = with_headers(volume, 1), with_headers(volume, 2)
    return [_row(average, volume, versions, framed) for average in AVERAGES]


def updated(volume: bytes) -> bytes:
    """The volume after one page in a hundred was overwritten, in runs of 1 to 8, as a busy file system does."""
    draw = random.Random(1)
    changed = bytearray(volume)
    pages = len(volume) // PAGE
    for _ in range(pages // 100 * 2 // 9):
        start = draw.randrange(pages) * PAGE
        length = min(draw.randint(1, 8) * PAGE, len(volume) - start)
        changed[start : start + length] = draw.randbytes(length)
    return bytes(changed)


def moved(volume: bytes) -> bytes:
    """The same pages in pieces of 16 KiB to 1 MiB in another order, as after a defragmentation."""
    draw = random.Random(2)
    pieces = []
    start = 0
    while start < len(volume):
        length = PAGE * draw.choice((4, 8, 16, 32, 64, 128, 256))
        pieces.append(volume[start : start + length])
        start += length
    draw.shuffle(pieces)
    return b"".join(pieces)


def with_headers(volume: bytes, seed: int) -> bytes:
    """The volume as iSCSI carries it in PDUs of 64 KiB: 48 changing bytes before each."""
    draw = random.Random(seed)
    step = 64 << 10
    return b"".join(draw.randbytes(48) + volume[at : at + step] for at in range(0, len(volume), step))


def _row(average: int, volume: bytes, versions: dict[str, bytes], framed: tuple[bytes, bytes]) -> Row:
    chunker = Chunker(average // 4, average, min(average * 4, 256 << 10))
    started = time.process_time()
    chunks = list(named(chunker, volume))
    seconds = time.process_time() - started
    known = {name for name, _ in chunks}
    unique = dict(chunks)
    return Row(
        average=average,
        found_duplicate_files=100 * (1 - sum(unique.values()) / len(volume)),
        found_after_updates=_found(chunker, known, versions["updates"]),
        found_after_moves=_found(chunker, known, versions["moves"]),
        found_between_headers=_found(chunker, {name for name, _ in named(chunker, framed[0])}, framed[1]),
        references=100 * TOKEN_BYTES * len(chunks) / len(volume),
        megabytes_per_second=len(volume) / seconds / 1e6,
    )


def named(chunker: Chunker, data: bytes) -> Iterator[tuple[bytes, int]]:
    """Fingerprint and length of each chunk. The data is cut piece by piece, so that chunks are still in the processor's
    cache when they are hashed."""
    view = memoryview(data)
    start = 0
    while start < len(view):
        stop = min(len(view), start + PIECE_BYTES)
        for length in chunker.cut(view[start:stop], final=stop == len(view)):
            yield fingerprint(view[start : start + length]), length
            start += length


def _found(chunker: Chunker, known: set[bytes], data: bytes) -> float:
    return 100 * sum(length for name, length in named(chunker, data) if name in known) / len(data)


def show(rows: list[Row], console: Console) -> None:
    """Print the table."""
    headings = ("average", "duplicate files", "1 % updated", "moved", "headers each 64 KiB", "references", "MB/s")
    title = "Chunk sizes: what a second pass finds again, % of plain bytes"
    table = plain_table(title, *headings, figures=headings)
    for row in rows:
        figures = list(asdict(row).values())
        table.add_row(f"{row.average >> 10} KiB", *(f"{value:.2f}" for value in figures[1:-1]), f"{figures[-1]:.0f}")
    console.print(table)


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.chunking", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=file_to_write, help="also write the figures to this file")
    options = parser.parse_args()
    rows = run()
    written = told([asdict(row) for row in rows], options.json, partial(show, rows))
    return ExitCode.OK if written else ExitCode.FAILED


if __name__ == "__main__":
    program(main)
