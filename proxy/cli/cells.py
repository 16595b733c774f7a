"""Cells of the tables that commands show: figures to three digits, harmless text, a dash for what is missing.

Also what two commands show alike. A status may come from another version, so nothing in it is taken for granted.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from proxy import figures
from proxy.cli.output import say
from proxy.text import printable

WIDE = 120
"""Characters of a terminal in which every column has room."""
SEVERITIES = {"info": "", "warning": "yellow", "error": "bold red"}
"""Styles of events."""
_SENT_STEPS = {
    "raw": "from arrays",
    "after_deduplication": "after deduplication",
    "after_compression": "after compression",
    "wire": "on the wire",
}
"""What becomes of the bytes that are sent: keys of a status's `bytes`, in order, and how each is shown."""
TELLING = 1.5
"""Share of the plain bytes that were sent, above which what crossed says nothing about reduction: most of it is
acknowledgements of what was received."""


def headed_table(*columns: str | Text) -> Table:
    """A table as all commands show them: a line below its headings, no frame.

    Where there is no room a value is continued in the next line, so that nothing of it is lost; a heading is cut off.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        heading = column.copy() if isinstance(column, Text) else Text(column)
        heading.overflow = "ellipsis"
        table.add_column(heading, overflow="fold")
    return table


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A `headed_table` that does without the columns of some headings where it does not fit into a narrow terminal."""

    table: Table
    spared: Container[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        room = options.max_width
        fits = console.measure(self.table, options=options.update_width(WIDE)).maximum <= room
        yield self.table if room >= WIDE or fits else self._narrow()

    def _narrow(self) -> Table:
        kept = [column for column in self.table.columns if str(column.header) not in self.spared]
        table = headed_table(*(str(column.header) for column in kept))
        for row in zip(*(column.cells for column in kept), strict=True):
            table.add_row(*row)
        table.caption = self.table.caption
        return table


def show(found: dict[str, Any], parts: Iterable[RenderableType], *, as_json: bool) -> None:
    """What a command has found: the data as JSON, or the parts that were made of it."""
    if as_json:
        say(json.dumps(found, indent=2))
        return
    console = Console()
    for part in parts:
        console.print(part)


def plain(value: Any, style: str = "") -> Text:
    """The value as text that moves no cursor and is not taken for markup; a dash for None."""
    return Text("-" if value is None else printable(str(value)), style)


def site_state(status: dict[str, Any]) -> str:
    """Whether the site serves, in a word or two."""
    return "draining" if status.get("draining") else "ready" if status.get("ready") else "not ready"


def came_by(stream: dict[str, Any]) -> Text:
    """The forward or export that a stream belongs to."""
    forward, export = stream.get("forward"), stream.get("export")
    return plain(f"forward {forward}" if forward else f"export {export}")


def number(value: Any) -> str:
    """1,234,567"""
    return f"{value:,}" if is_number(value) else "-"


def sent_steps(counts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What became of the bytes that were sent: how each step is shown, and its bytes. `counts`: a status's `bytes`."""
    for key, meaning in _SENT_STEPS.items():
        yield meaning, counts.get(key)
        if key == "after_deduplication" and counts.get("relieved"):
            yield "  of it held by peers", counts["relieved"]


def share_of_sent(part: Any, whole: Any) -> float | None:
    """`part / whole`; None where that is unknown, or where too little was sent for it to mean something."""
    known = is_number(part) and is_number(whole) and whole > 0 and 0 <= part <= TELLING * whole
    return part / whole if known else None


def size(value: Any) -> str:
    """1.5 GiB"""
    return figures.size(value) if is_number(value) else "-"


def rate(value: Any) -> str:
    """43.4 Mbit/s"""
    return figures.rate(value) if is_number(value) else "-"


def duration(value: Any) -> str:
    """The two largest units: 2 d 3 h, 4 min 5 s, 6 s."""
    if not is_number(value) or not 0 <= value < float("inf"):
        return "-"
    seconds = int(value)
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2])


def milliseconds(value: Any) -> str:
    """Seconds: 0.42 ms"""
    return figures.milliseconds(value) if is_number(value) else "-"


def moment(value: Any) -> str:
    """Seconds since 1970 as this host's time: 2026-11-21 22:30:05."""
    try:
        return datetime.fromtimestamp(value).strftime("%Y-%m-%d %H:%M:%S") if is_number(value) else "-"
    except (ValueError, OverflowError, OSError):
        return "-"


def is_number(value: Any) -> bool:
    """A figure that can be shown."""
    return isinstance(value, int | float) and abs(value) < 1e30


def as_list(value: Any) -> list[Any]:
    """The value, if it is a list."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """The value, if it is a table."""
    return value if isinstance(value, dict) else {}


def as_dicts(value: Any) -> list[dict[str, Any]]:
    """The tables in a list."""
    return [entry for entry in as_list(value) if isinstance(entry, dict)]
