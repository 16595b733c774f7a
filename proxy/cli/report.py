"""A site's status as a page of tables for a terminal.

The status may come from another version, so nothing in it is taken for granted: what is missing shows as a dash, and
text is shown without control characters and without being taken for markup.
"""

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from proxy.text import printable

MOST_STREAMS = 40
"""Streams that are listed; --json has all."""
BAR = 24
"""Characters of the longest bar."""

_STATES = {"up": "green", "outage": "red", "connecting": "yellow", "waiting": "yellow"}


def report(status: dict[str, Any]) -> RenderableType:
    """The whole page."""
    return Group(*_parts(status))


def store_table(store: dict[str, Any]) -> Table:
    """What a store holds, and what it was good for."""
    table = headed_table("Store", plain(store.get("mode")))
    table.add_row("used", f"{size(store.get('used_bytes'))} of {size(store.get('size_bytes'))}")
    for key, meaning in {"chunks": "chunks", "hits": "hits", "misses": "misses", "invalid": "invalid"}.items():
        table.add_row(meaning, number(store.get(key)))
    for key, meaning in {"evicted_bytes": "evicted", "unlearned_bytes": "passed unlearned"}.items():
        table.add_row(meaning, size(store.get(key)))
    table.add_row("oldest", duration(store.get("oldest_seconds")))
    return table


def _parts(status: dict[str, Any]) -> Iterator[RenderableType]:
    yield _headline(status)
    for alarm in _list(status.get("alarms")):
        yield plain(f"! {alarm}", "bold red")
    yield _peers(_dicts(status.get("peers")))
    if rows := list(_share_rows(_dicts(status.get("peers")))):
        yield _shares(rows)
    if rows := list(_on_demand_rows(_dicts(status.get("peers")))):
        yield _on_demand(rows)
    streams = _dicts(status.get("streams"))
    if streams:
        yield _streams(streams)
    yield _verdicts(_dicts(status.get("peers")), streams)
    yield _waterfall(_dict(status.get("bytes")))
    yield store_table(_dict(status.get("store")))


def _headline(status: dict[str, Any]) -> Text:
    state = "draining" if status.get("draining") else "ready" if status.get("ready") else "not ready"
    return Text.assemble(
        plain(status.get("site"), "bold"),
        " ",
        plain(status.get("version")),
        ", ",
        (state, "green" if state == "ready" else "yellow"),
        f", up {duration(status.get('uptime_seconds'))}",
    )


def _peers(peers: list[dict[str, Any]]) -> Table:
    table = headed_table("Peer", "State", "Lanes", "Round trip", "Outages", "Streams", "Last error")
    for peer in peers:
        lanes, state = peer.get("lanes"), peer.get("state")
        table.add_row(
            plain(peer.get("name")),
            plain(state, _STATES.get(str(state), "")),
            number(len(lanes) if isinstance(lanes, list) else lanes),
            milliseconds(peer.get("round_trip_seconds")),
            number(peer.get("outages")),
            number(peer.get("streams")),
            plain(peer.get("last_error") or None),
        )
    return table


def _share_rows(peers: list[dict[str, Any]]) -> Iterator[tuple[Text | str, ...]]:
    """What has a rule: the peer's rate, then its forwards and exports; nothing of a peer without any."""
    for peer in peers:
        shares = _dicts(peer.get("shares"))
        name, limit, held = plain(peer.get("name")), peer.get("rate_bits_per_second"), peer.get("held_seconds")
        if limit is None and not any(map(_is_ruled, shares)):
            continue
        now = sum(each["bits_per_second"] for each in shares if _is_number(each.get("bits_per_second")))
        sent = sum(each["wire_bytes"] for each in shares if _is_number(each.get("wire_bytes")))
        yield name, "all together", "", "-", rate(limit), rate(now), size(sent), duration(held)
        for share in shares:
            yield (
                name,
                plain(share.get("name")),
                plain(share.get("priority")),
                rate(share.get("guarantee_bits_per_second")),
                rate(share.get("maximum_bits_per_second")),
                rate(share.get("bits_per_second")),
                size(share.get("wire_bytes")),
                duration(share.get("held_seconds")),
            )


def _on_demand_rows(peers: list[dict[str, Any]]) -> Iterator[tuple[Text | str, ...]]:
    """Forwards that are open on demand."""
    for peer in peers:
        for opened in _dicts(peer.get("on_demand")):
            yield (
                plain(peer.get("name")),
                plain(opened.get("forward")),
                plain(opened.get("portal")),
                plain(opened.get("listen")),
                number(opened.get("streams")),
                number(opened.get("accepted")),
                duration(opened.get("idle_seconds")),
            )


def _on_demand(rows: list[tuple[Text | str, ...]]) -> Table:
    table = headed_table("Peer", "On demand by", "Portal", "Here", "Streams", "Accepted", "Idle")
    for row in rows:
        table.add_row(*row)
    return table


def _is_ruled(share: dict[str, Any]) -> bool:
    limits = share.get("guarantee_bits_per_second"), share.get("maximum_bits_per_second")
    return limits != (None, None) or share.get("priority") != "normal" or bool(share.get("dscp"))


def _shares(rows: list[tuple[Text | str, ...]]) -> Table:
    table = headed_table("Peer", "Share", "Priority", "Guarantee", "Maximum", "Now", "Sent", "Held")
    for row in rows:
        table.add_row(*row)
    return table


def _streams(streams: list[dict[str, Any]]) -> Table:
    hidden = len(streams) - MOST_STREAMS
    table = headed_table("Stream", "Peer", "By", "Origin", "Age", "Sent", "Compression", "Delivered")
    table.caption = f"and {hidden} more: --json shows all" if hidden > 0 else None
    for stream in streams[:MOST_STREAMS]:
        forward, export = stream.get("forward"), stream.get("export")
        moved = _dict(stream.get("bytes"))
        table.add_row(
            number(stream.get("id")),
            plain(stream.get("peer")),
            plain(f"forward {forward}" if forward else f"export {export}"),
            plain(stream.get("origin")),
            duration(stream.get("age_seconds")),
            size(moved.get("raw")),
            plain(stream.get("compression")),
            size(moved.get("delivered")),
        )
    return table


def _verdicts(peers: list[dict[str, Any]], streams: list[dict[str, Any]]) -> Table:
    """Why it is slow: of each tunnel, then of each stream."""
    table = headed_table("Last 10 s", "Limited by", "Of the time", "Why")
    named = [(f"tunnel {peer.get('name')}", peer) for peer in peers]
    named += [(f"stream {stream.get('id')}", stream) for stream in streams[:MOST_STREAMS]]
    for name, limited in named:
        verdict = _dict(limited.get("verdict"))
        share = verdict.get("share")
        table.add_row(
            plain(name),
            plain(verdict.get("limit")),
            f"{share:.0%}" if _is_number(share) else "-",
            plain(verdict.get("words")),
        )
    return table


def _waterfall(counts: dict[str, Any]) -> Table:
    """What was sent, step by step, beside what the arrays gave; then what was received."""
    table = headed_table("Bytes", "", "Of what was sent", "")
    raw = counts.get("raw")
    steps = {"raw": "from arrays", "after_deduplication": "after deduplication"}
    steps |= {"after_compression": "after compression", "wire": "on the wire"}
    for key, meaning in steps.items():
        table.add_row(meaning, size(counts.get(key)), *_share(counts.get(key), raw))
    table.add_section()
    for key, meaning in {"delivered": "delivered to arrays", "from_store": "  of it from the store"}.items():
        table.add_row(meaning, size(counts.get(key)))
    table.add_row("verified", size(counts.get("verified")))
    return table


def headed_table(*columns: str | Text) -> Table:
    """A table as all commands show them: a line below its headings, no frame."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _share(part: Any, whole: Any) -> tuple[str, str]:
    if not _is_number(part) or not _is_number(whole) or whole <= 0 or part < 0:
        return "-", ""
    share = part / whole
    return f"{share:.1%}", "█" * round(min(share, 1) * BAR)


def plain(value: Any, style: str = "") -> Text:
    """Text that moves no cursor and is no markup; a dash for nothing."""
    return Text("-" if value is None else printable(str(value)), style)


def number(value: Any) -> str:
    """1,234,567"""
    return f"{value:,}" if _is_number(value) else "-"


def size(value: Any) -> str:
    """1.5 GiB, to three figures."""
    if not _is_number(value):
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1000:
            return f"{value} B" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:,.3g} TiB" if value < 1000 else f"{value:,.0f} TiB"


def rate(value: Any) -> str:
    """43.4 Mbit/s, to three figures."""
    if not _is_number(value):
        return "-"
    for unit in ("bit/s", "kbit/s", "Mbit/s"):
        if abs(value) < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} Gbit/s" if value < 1000 else f"{value:,.0f} Gbit/s"


def duration(value: Any) -> str:
    """The two largest units: 2 d 3 h, 4 min 5 s, 6 s."""
    if not _is_number(value) or not 0 <= value < float("inf"):
        return "-"
    seconds = int(value)
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2])


def milliseconds(value: Any) -> str:
    """Seconds as milliseconds: 0.42 ms."""
    return f"{value * 1000:.3g} ms" if _is_number(value) else "-"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e30


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in _list(value) if isinstance(entry, dict)]
