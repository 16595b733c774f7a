"""Volumes in a site's status: what was read and written, and whether a faster line would help."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from proxy.cli.cells import as_dict, as_dicts, as_list, headed_table, is_number, milliseconds, number, plain, size
from proxy.observe.histogram import within

MOST_VOLUMES = 20
"""Volumes of a peer that are listed; --json has all that are counted apart."""
MOST = 0.95
"""Share of the commands that took no longer than the latency that is shown."""
HEADINGS = "Volume", "By", "", "Commands", "Bytes", "Average", "In sequence", "Latency", "95 % within", "Under way"
SPARED = frozenset({"By", "Average", "In sequence", "95 % within"})
"""Headings of columns that a narrow terminal does without."""
_COLOURS = {"green": "green", "yellow": "yellow", "red": "red"}


def volumes_table(peers: list[dict[str, Any]]) -> Table:
    """A row for reads and one for writes of each volume, if any were; the largest first."""
    table = headed_table(*HEADINGS)
    hidden = 0
    for peer in peers:
        used = [volume for volume in as_dicts(peer.get("volumes")) if any(_accesses(volume))]
        hidden += max(0, len(used) - MOST_VOLUMES)
        for volume in used[:MOST_VOLUMES]:
            for row in _rows(volume, _whose(peer, peers)):
                table.add_row(*row)
    table.caption = f"and {hidden} more: --json shows all" if hidden else None
    return table


def volume_rows(peers: list[dict[str, Any]]) -> list[tuple[Text | str, ...]]:
    """The same rows, of all volumes and peers, in the order of the status."""
    return [
        row for peer in peers for volume in as_dicts(peer.get("volumes")) for row in _rows(volume, _whose(peer, peers))
    ]


def advice_table(peers: list[dict[str, Any]]) -> Table:
    """What the advice says about each line; nothing for one over which nothing was written."""
    table = headed_table("Line to", "Would a faster one help?")
    for peer in peers:
        if advice := as_dict(peer.get("advice")):
            colour = _COLOURS.get(str(advice.get("colour")), "")
            table.add_row(plain(peer.get("name")), plain(advice.get("words"), colour))
    return table


def _whose(peer: dict[str, Any], peers: list[dict[str, Any]]) -> str:
    """What is added to the name of a share where there are several peers: all of them may reach one export."""
    return f", peer {plain(peer.get('name'))}" if len(peers) > 1 else ""


def _accesses(volume: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Reads and writes, where there were any."""
    for access in ("reads", "writes"):
        commands = as_dict(volume.get(access))
        if any(commands.get(key) for key in ("commands", "failed", "sequential", "random")):
            yield access, commands


def _rows(volume: dict[str, Any], whose: str) -> Iterator[tuple[Text | str, ...]]:
    under_way = f"{number(volume.get('outstanding'))}, most {number(volume.get('outstanding_peak'))}"
    name = plain(" ".join(str(part) for part in (volume.get("target"), volume.get("unit")) if part) or None)
    by = plain(f"{volume['share']}{whose}" if volume.get("share") else None)
    for access, commands in _accesses(volume):
        count, moved = commands.get("commands"), commands.get("bytes")
        seconds = as_dict(commands.get("seconds"))
        yield (
            name,
            by,
            access,
            number(count) + _failed(commands.get("failed")),
            size(moved),
            size(_average(moved, count)),
            _percent(commands.get("sequential"), commands.get("random")),
            _latency(_ratio(seconds.get("total"), count)),
            _within(seconds),
            under_way,
        )
        name, by, under_way = plain(""), plain(""), ""


def _failed(failed: Any) -> str:
    return f", {number(failed)} failed" if is_number(failed) and failed else ""


def _ratio(part: Any, whole: Any) -> float | None:
    return part / whole if is_number(part) and is_number(whole) and whole > 0 else None


def _average(moved: Any, count: Any) -> int | None:
    average = _ratio(moved, count)
    return None if average is None else round(average)


def _percent(part: Any, rest: Any) -> str:
    share = _ratio(part, part + rest) if is_number(part) and is_number(rest) else None
    return "-" if share is None else f"{share:.0%}"


def _within(seconds: dict[str, Any]) -> str:
    bounds, counts = as_list(seconds.get("bounds")), as_list(seconds.get("counts"))
    if not all(map(is_number, [*bounds, *counts])):
        return "-"
    if not any(counts):
        return "-"
    bound = within(bounds, counts, MOST)
    return f"over {_latency(bounds[-1] if bounds else None)}" if bound is None else _latency(bound)


def _latency(seconds: Any) -> str:
    return f"{seconds:,.3g} s" if is_number(seconds) and seconds >= 1 else milliseconds(seconds)
