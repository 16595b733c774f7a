"""What the web page shows, for a terminal: health, throughput, what becomes of bytes, streams, store, volumes, events.

Made from the API's answers, which may come from another version, or be missing: nothing in them is taken for granted.
"""

import math
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from proxy.cli.cells import (
    SEVERITIES,
    WIDE,
    as_dict,
    as_dicts,
    as_list,
    came_by,
    duration,
    is_number,
    milliseconds,
    moment,
    number,
    plain,
    rate,
    sent_steps,
    share_of_sent,
    site_state,
    size,
)
from proxy.cli.fitting import Cell, Section
from proxy.cli.health_report import LEVELS, conditions
from proxy.cli.volumes_report import HEADINGS, SPARED, volume_rows
from proxy.text import introduced

ASKED = {
    "health": "health",
    "warnings": "warnings",
    "history": "history?range=5m",
    "streams": "streams?limit=100",
    "store": "store",
    "events": "events?limit=50",
}
"""What is asked for beside the status, by the name under which it is here: paths below /api/v1."""
SPARKS = 120
"""Seconds of a line of throughput at most: one a character."""
BESIDE_SPARKS = 64
"""Characters of the other columns."""
BESIDE_HEALTH = 20
"""Characters of a level and its code, and the space behind them."""
LEAST_HEALTH = 20
"""Characters for what is said of it, at least."""
BAR = 30
LEFT_OUT = SPARED | {"lanes", "loss", "peer", "origin", "compression"}
"""Columns that a narrower one does without."""
NARROW = 72
"""Characters below which even fewer columns have room for whole figures: without its unit, a figure says nothing."""
LEFT_OUT_AS_WELL = LEFT_OUT | {"peak", "average", "round trip", "sent", "received", "delivered", "oldest", "verified"}

_SPARK = " ▁▂▃▄▅▆▇█"
_LINES = {
    "lan_sent": "from arrays here",
    "lan_received": "to arrays here",
    "wan_sent": "to peers",
    "wan_received": "from peers",
}

Answers = Mapping[str, dict[str, Any]]
"""The status, and the others by the names of `ASKED`; empty where there is no answer."""
Row = tuple[Cell, ...]


def sections(answers: Answers, now: float, width: int) -> list[Section]:
    """The page, what matters most first. `now`: seconds since 1970; `width`: of the terminal, in characters."""
    status, health = answers["status"], answers["health"]
    peers = as_dicts(status.get("peers"))
    events = as_dicts(answers["events"].get("events"))
    sparks = max(1, min(SPARKS, width - BESIDE_SPARKS))
    shown = [
        Section(("Health", _headline(status)), list(_health(answers, now, max(LEAST_HEALTH, width - BESIDE_HEALTH)))),
        Section(("Throughput", "now", "peak", "average", "until now"), list(_throughput(answers["history"], sparks))),
        Section(
            ("Sent since the start" if width >= NARROW else "Sent", "", "", ""),
            list(_waterfall(as_dict(status.get("bytes")))),
        ),
        Section(
            ("Tunnel", "state", "lanes", "round trip", "loss", "sent", "received", "limited by", "why"),
            list(_tunnels(peers, as_dicts(health.get("peers")))),
        ),
        Section(
            ("Stream", "peer", "by", "origin", "sent", "delivered", "compression", "limited by", "why"),
            [_stream(stream) for stream in as_dicts(answers["streams"].get("streams"))],
        ),
        Section(("Store", "used", "oldest", "hits", "verified", "advice"), list(_store(answers["store"]))),
        Section(HEADINGS, volume_rows(peers)),
        Section(("Event", "", "", ""), [_event(event) for event in events], newest=True),
    ]
    if width >= WIDE:
        return shown
    left_out = LEFT_OUT if width >= NARROW else LEFT_OUT_AS_WELL
    return [section.without(left_out) for section in shown]


def _headline(status: dict[str, Any]) -> Text:
    name = f"{plain(status.get('site'))} {plain(status.get('version'))}"
    return Text(f"{name}, {site_state(status)}, up {duration(status.get('uptime_seconds'))}")


def _health(answers: Answers, now: float, room: int) -> Iterator[Row]:
    """As many rows as it takes: the remedy stands at the end."""
    for each in conditions(answers["health"], answers["warnings"], now):
        said = " ".join(filter(None, (str(each.words), each.since and f"for {each.since}", str(each.remedy))))
        for at, line in enumerate(textwrap.wrap(said, room)):
            yield "" if at else each.level, line


def _throughput(history: dict[str, Any], sparks: int) -> Iterator[Row]:
    chart, summary = as_dict(history.get("chart")), as_dict(history.get("summary"))
    for key, meaning in _LINES.items():
        values, summed = _so_far(as_list(chart.get(key))), as_dict(summary.get(key))
        if values:
            yield (
                meaning,
                rate(values[-1]),
                rate(summed.get("peak")),
                rate(summed.get("average")),
                _spark(values[-sparks:]),
            )


def _so_far(values: list[Any]) -> list[Any]:
    """The values without steps at the end that have none yet."""
    return next((values[:end] for end in range(len(values), 0, -1) if values[end - 1] is not None), [])


def _spark(values: list[Any]) -> Text:
    """A line of bars, the newest at its right; a gap where the site did not run."""
    last = [value if is_number(value) and value > 0 else 0 for value in values]
    top = max(last) or 1
    return Text("".join(_SPARK[math.ceil(value / top * (len(_SPARK) - 1))] for value in last), "cyan")


def _waterfall(counts: dict[str, Any]) -> Iterator[Row]:
    raw = counts.get("raw")
    for meaning, count in sent_steps(counts):
        share = share_of_sent(count, raw)
        bar = "█" * round(min(share or 0, 1) * BAR)
        yield meaning, size(count), _percent(share), Text(bar, "cyan")


def _tunnels(peers: list[dict[str, Any]], healths: list[dict[str, Any]]) -> Iterator[Row]:
    known = {str(peer.get("name")): as_dict(peer.get("tunnel")) for peer in healths}
    for peer in peers:
        tunnel = known.get(str(peer.get("name")), {})
        yield (
            plain(peer.get("name")),
            plain(peer.get("state"), LEVELS.get(str(tunnel.get("level")), "")),
            number(len(as_list(peer.get("lanes")))),
            milliseconds(peer.get("round_trip_seconds")),
            _percent(tunnel.get("loss")),
            rate(tunnel.get("sent_bits_per_second")),
            rate(tunnel.get("received_bits_per_second")),
            *_verdict(peer),
        )


def _stream(stream: dict[str, Any]) -> Row:
    return (
        number(stream.get("id")),
        plain(stream.get("peer")),
        came_by(stream),
        plain(stream.get("initiator") or stream.get("origin")),
        rate(stream.get("sent_bits_per_second")),
        rate(stream.get("delivered_bits_per_second")),
        plain(stream.get("compression")),
        *_verdict(stream),
    )


def _verdict(limited: dict[str, Any]) -> Row:
    verdict = as_dict(limited.get("verdict"))
    share = verdict.get("share")
    limit = plain(verdict.get("limit"))
    return (Text.assemble(limit, f" {share:.0%}") if is_number(share) else limit), plain(verdict.get("words"))


def _store(store: dict[str, Any]) -> Iterator[Row]:
    if store:
        yield (
            plain(store.get("mode")),
            f"{size(store.get('used_bytes'))} of {size(store.get('size_bytes'))}",
            duration(store.get("oldest_seconds") or None),
            _percent(store.get("hit_rate")),
            size(store.get("verified_bytes")),
            plain(store.get("advice")),
        )
        for alarm in as_list(store.get("alarms")):
            yield Text("alarm", "bold red"), "", "", "", "", plain(alarm, "bold red")


def _event(event: dict[str, Any]) -> Row:
    severity = str(event.get("severity"))
    words = introduced(str(plain(event.get("subject"))), str(plain(event.get("words"))))
    return (
        moment(event.get("time")),
        plain(severity, SEVERITIES.get(severity, "")),
        plain(event.get("code")),
        plain(words),
    )


def _percent(share: Any) -> str:
    return f"{share:.1%}" if is_number(share) else "-"
