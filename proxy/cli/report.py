"""A site's status as a page of tables for a terminal, its health above it.

The status may come from another version, so nothing in it is taken for granted: what is missing shows as a dash, and
text is shown without control characters and without being taken for markup.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from proxy.cli.cells import (
    Narrowed,
    as_dict,
    as_dicts,
    as_list,
    came_by,
    duration,
    headed_table,
    is_number,
    milliseconds,
    number,
    plain,
    rate,
    sent_steps,
    share_of_sent,
    site_state,
    size,
)
from proxy.cli.health_report import Condition, conditions
from proxy.cli.volumes_report import SPARED, advice_table, volumes_table

ASKED = ("health", "warnings")
"""What the page needs beside the status: paths below /api/v1."""
MOST_STREAMS = 40
"""Streams that are listed; --json has all."""
BAR = 20
"""Characters of the longest bar: with the longest figures it fits into 80 columns."""

_STATES = {"up": "green", "outage": "red", "connecting": "yellow", "waiting": "yellow"}


def report(answers: Mapping[str, dict[str, Any]], now: float) -> RenderableType:
    """The whole page, of the status and of those of `ASKED` that there are. `now`: seconds since 1970."""
    health, warnings = answers.get("health"), answers.get("warnings", {})
    return Group(*_parts(answers["status"], list(conditions(health, warnings, now)) if health else []))


def store_table(store: dict[str, Any]) -> Table:
    """What a store holds, and what it was good for."""
    table = headed_table("Store", plain(store.get("mode")))
    table.add_row("used", f"{size(store.get('used_bytes'))} of {size(store.get('size_bytes'))}")
    for key in ("chunks", "hits", "misses", "invalid"):
        table.add_row(key, number(store.get(key)))
    for key, meaning in {"evicted_bytes": "evicted", "unlearned_bytes": "passed unlearned"}.items():
        table.add_row(meaning, size(store.get(key)))
    table.add_row("oldest", duration(store.get("oldest_seconds") or None))
    return table


def _parts(status: dict[str, Any], health: list[Condition]) -> Iterator[RenderableType]:
    yield _headline(status)
    if health:
        yield _health(health)
    for alarm in map(str, map(plain, as_list(status.get("alarms")))):
        if not any(str(each.words).endswith(alarm) for each in health):
            yield Text(f"! {alarm}", "bold red")
    peers, streams = as_dicts(status.get("peers")), as_dicts(status.get("streams"))
    yield Narrowed(_peers(peers), {"Outages", "Streams"})
    tables = (
        (_shares(peers), {"Priority", "Guarantee", "Sent"}),
        (_on_demand(peers), {"Peer", "Accepted"}),
        (volumes_table(peers), SPARED),
        (advice_table(peers), ()),
        (_streams(streams), {"Peer", "Age", "Compression"}),
    )
    yield from (Narrowed(table, spared) for table, spared in tables if table.row_count)
    yield _verdicts(peers, streams)
    yield _waterfall(as_dict(status.get("bytes")))
    yield store_table(as_dict(status.get("store")))


def _headline(status: dict[str, Any]) -> Text:
    state = site_state(status)
    return Text.assemble(
        plain(status.get("site"), "bold"),
        " ",
        plain(status.get("version")),
        ", ",
        (state, "green" if state == "ready" else "yellow"),
        f", up {duration(status.get('uptime_seconds'))}",
    )


def _health(health: list[Condition]) -> Table:
    table = headed_table("Health", "", "Since")
    for each in health:
        words = Text("\n").join([each.words, each.remedy]) if each.remedy else each.words
        table.add_row(each.level, words, each.since)
    return table


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


def _shares(peers: list[dict[str, Any]]) -> Table:
    """What has a rule: the peer's rate, then its forwards and exports; nothing of a peer without any."""
    table = headed_table("Peer", "Share", "Priority", "Guarantee", "Maximum", "Now", "Sent", "Held")
    for peer in peers:
        shares = as_dicts(peer.get("shares"))
        name, limit, held = plain(peer.get("name")), peer.get("rate_bits_per_second"), peer.get("held_seconds")
        if limit is None and not any(map(_is_ruled, shares)):
            continue
        now = sum(each["bits_per_second"] for each in shares if is_number(each.get("bits_per_second")))
        sent = sum(each["wire_bytes"] for each in shares if is_number(each.get("wire_bytes")))
        table.add_row(name, "all together", "", "-", rate(limit), rate(now), size(sent), duration(held))
        for share in shares:
            table.add_row(
                name,
                plain(share.get("name")),
                plain(share.get("priority")),
                rate(share.get("guarantee_bits_per_second")),
                rate(share.get("maximum_bits_per_second")),
                rate(share.get("bits_per_second")),
                size(share.get("wire_bytes")),
                duration(share.get("held_seconds")),
            )
    return table


def _on_demand(peers: list[dict[str, Any]]) -> Table:
    """Forwards that are open on demand."""
    table = headed_table("Peer", "On demand by", "Portal", "Here", "Streams", "Accepted", "Idle")
    for peer in peers:
        for opened in as_dicts(peer.get("on_demand")):
            table.add_row(
                plain(peer.get("name")),
                plain(opened.get("forward")),
                plain(opened.get("portal")),
                plain(opened.get("listen")),
                number(opened.get("streams")),
                number(opened.get("accepted")),
                duration(opened.get("idle_seconds")),
            )
    return table


def _is_ruled(share: dict[str, Any]) -> bool:
    limits = share.get("guarantee_bits_per_second"), share.get("maximum_bits_per_second")
    return limits != (None, None) or share.get("priority") != "normal" or bool(share.get("dscp"))


def _streams(streams: list[dict[str, Any]]) -> Table:
    hidden = len(streams) - MOST_STREAMS
    table = headed_table("Stream", "Peer", "By", "Origin", "Age", "Sent", "Compression", "Delivered")
    table.caption = f"and {hidden} more: --json shows all" if hidden > 0 else None
    for stream in streams[:MOST_STREAMS]:
        moved = as_dict(stream.get("bytes"))
        table.add_row(
            number(stream.get("id")),
            plain(stream.get("peer")),
            came_by(stream),
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
        verdict = as_dict(limited.get("verdict"))
        share = verdict.get("share")
        table.add_row(
            plain(name),
            plain(verdict.get("limit")),
            f"{share:.0%}" if is_number(share) else "-",
            plain(verdict.get("words")),
        )
    return table


def _waterfall(counts: dict[str, Any]) -> Table:
    """What was sent, step by step, beside what the arrays gave; then what was received."""
    table = headed_table("Bytes", "", "Of what was sent", "")
    raw = counts.get("raw")
    for meaning, count in sent_steps(counts):
        table.add_row(meaning, size(count), *_share(count, raw))
    table.add_section()
    for key, meaning in {"delivered": "delivered to arrays", "from_store": "  of it from the store"}.items():
        table.add_row(meaning, size(counts.get(key)))
    table.add_row("verified", size(counts.get("verified")))
    return table


def _share(part: Any, whole: Any) -> tuple[str, str]:
    share = share_of_sent(part, whole)
    if share is None:
        return "-", ""
    return f"{share:.1%}", "█" * round(min(share, 1) * BAR)
