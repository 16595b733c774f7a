"""What `isthmus plan` computed, as tables for a terminal."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from proxy.cli.cells import duration, headed_table, milliseconds, number, plain, rate
from proxy.config.units import show_duration
from proxy.doctor.wording import SYSCTL_FILE
from proxy.figures import decimal_size
from proxy.plan.line import KM_PER_MILE

_LATENCY = (
    "Throughput of one TCP connection = window / round trip. Latency one way? Then double it first. KB, MB: powers"
    " of 1000."
)

_COLD_AND_WARM = (
    "Cold: all of it is new to the far side, and reduced by --reduction; warm: nothing is new. A night's changes lie"
    " between. The hosts carry --site-rate at most."
)


def report(found: dict[str, Any]) -> Iterator[RenderableType]:
    """The parts that are there, in the order of a question about a line."""
    if "line" in found:
        yield _line(found["line"])
        yield _connection(found["connection"], found["line"])
        yield from _buffers(found["buffers"])
    if "replication" in found:
        yield _replication(found["replication"])
    if "needed" in found:
        yield _needed(found["needed"])
    if "table" in found:
        yield _windows(found["table"])
    if "zones" in found:
        yield _zones(found["zones"])
    for note in found.get("notes", ()):
        yield plain(f"! {note}", "yellow")


def way_cells(way: dict[str, Any]) -> tuple[str, str, str]:
    """Of one way to replicate: what it is called, how long it takes, what crosses the line."""
    takes = duration(way["seconds"]) if way["seconds"] >= 1 else "under 1 s"
    return _way(way), takes, decimal_size(way["on_line"])


def _way(way: dict[str, Any]) -> str:
    window = f", {decimal_size(way['window'])} window" if way["window"] else ""
    return f"{way['way']}{window}"


def _line(line: dict[str, Any]) -> Table:
    figures = f"{rate(line['rate'])}, {milliseconds(line['round_trip'])}, {_percent(line['loss'])} loss"
    table = headed_table("Line", figures)
    table.add_row("MTU, MSS, payload a packet", f"{line['mtu']}, {line['mss']}, {line['segment']} bytes")
    table.add_row("TCP payload without loss", rate(line["payload_rate"]))
    table.add_row("goodput at that loss", rate(line["goodput"]))
    km = line["longest_km"]
    table.add_row("fibre to the other end, at most", f"{km:,.0f} km ({km / KM_PER_MILE:,.0f} miles)")
    return table


def _connection(connection: dict[str, Any], line: dict[str, Any]) -> Table:
    table = headed_table("One TCP connection", "at most", "of the goodput")
    rows = {
        f"a window of {decimal_size(connection['window'])} allows": "window_rate",
        "  and with CUBIC gets about": "window_throughput",
        "Reno with a large window, about": "reno",
        "CUBIC with a large window, about": "cubic",
        "BBR with a large window": "bbr",
    }
    for meaning, key in rows.items():
        table.add_row(meaning, rate(connection[key]), _percent(min(connection[key] / line["goodput"], 1)))
    table.add_row("CUBIC connections that fill the line", number(connection["cubic_lanes"]))
    return table


def _buffers(buffers: dict[str, Any]) -> Iterator[RenderableType]:
    table = headed_table("Window", "bytes")
    table.add_row("needed: bandwidth x round trip", f"{buffers['bandwidth_delay']:,}")
    table.add_row("buffer limits of both kernels, at least twice that", f"{buffers['limit']:,}")
    yield table
    yield plain(f"{SYSCTL_FILE} on both sites' hosts, then sysctl --system:")
    for line in buffers["sysctl"]:
        yield plain(f"  {line}")
    yield plain("")


def _replication(ways: list[dict[str, Any]]) -> Table:
    timed = any(way["ends"] for way in ways)
    table = headed_table("Replication", "Rate", "Takes", "On the line", *(["Ends"] if timed else []))
    for way in ways:
        name, takes, on_line = way_cells(way)
        table.add_row(name, rate(way["rate"]), takes, on_line, *([way["ends"]] if timed else []))
    table.caption, table.caption_justify = _COLD_AND_WARM, "left"
    return table


def _needed(found: dict[str, Any]) -> Table:
    within = show_duration(found["seconds"])
    table = headed_table(f"{decimal_size(found['volume'])} within {within}", "Line needed")
    for way in found["ways"]:
        none = f"none is enough: at most {rate(way['most'])}"
        table.add_row(_way(way), none if way["rate"] is None else rate(way["rate"]))
    table.caption, table.caption_justify = _COLD_AND_WARM, "left"
    return table


def _windows(found: dict[str, Any]) -> Table:
    table = headed_table("Window", *(milliseconds(round_trip) for round_trip in found["round_trips"]))
    for window, rates in zip(found["windows"], found["rates"], strict=True):
        table.add_row(decimal_size(window), *map(rate, rates))
    table.caption, table.caption_justify = _LATENCY, "left"
    return table


def _zones(zones: dict[str, Any]) -> Table:
    table = headed_table("A faster line", "")
    names = {
        "write_rate": "by the sum of write throughput",
        "write_size": "by the average write size",
        "together": "by both, the more sceptical of them",
    }
    for key, zone in zones.items():
        table.add_row(names[key], plain(zone["zone"], zone["colour"]))
    return table


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
