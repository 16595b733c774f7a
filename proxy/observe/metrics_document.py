"""Writes deploy/METRICS.md from the declarations: `python -m proxy.observe.metrics_document`, in a checkout."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

from proxy.observe.metrics import DECLARATIONS, STREAM_DECLARATIONS, Declaration
from proxy.observe.watch_metrics import WATCH_DECLARATIONS

PATH = Path(__file__).parents[2] / "deploy" / "METRICS.md"

_HEAD = """\
# Metrics

Written by `python -m proxy.observe.metrics_document`; change `proxy/observe/metrics.py` and `watch_metrics.py`.

`/metrics` of the status listener (by default http://127.0.0.1:8900/metrics), for Prometheus. Names, labels and
meanings are public interface: new ones may be added, and none changes its meaning. Counters begin at 0 when the site
starts. *Here* is this site, and *sent* is from arrays here towards the peer. *Plain bytes* are bytes as the arrays send
and receive them. What the other words mean: [GUIDE.md](GUIDE.md#words). IST-... are codes of [EVENTS.md](EVENTS.md).

What is sent is counted at each stage: `raw` as it comes from the arrays, `deduplicated` when chunks that the peer holds
have been replaced by references, `compressed` after compression, `wire` on the line. For a peer `wire` is TCP payload
with TLS, without TCP and IP headers; for a share it includes these headers. What TCP sends again is in neither.

| label | values |
|---|---|
{labels}

| name | kind | labels | meaning |
|---|---|---|---|
"""


_LABELS = {
    "`peer`": "the peer's `name` in the site's file",
    "`share`": "`forward NAME` or `export NAME`: what the connections go through",
    "`target`, `unit`": "an iSCSI volume: the target's name, and the LUN as a number, or as 16 hexadecimal digits"
    " if it has several levels. At most 32 volumes a peer are listed; target `others`, with empty share and unit, is"
    " all the rest",
    "`access`": "`read`, `write`",
    "`waiting`": "what one direction of a stream waited for; [API.md](API.md#waiting) explains each value",
    "`compression`": "`none`; `none, for speed` while the line is faster than compression; or `zstd` with its level"
    " and, if it has a long context, the length of that: `zstd 1`, `zstd 9, 32 MiB`",
    "`outcome`": "`rewritten`: an address here was put in its place; `passed`: it went on unchanged",
    "`reason`": "`unreachable`: the array behind the export; `not_exported`: the export, to that site",
    "`zone`": "would a faster line help? `green`: unlikely, `yellow`: perhaps, `red`: likely",
    "`role`, `name`": "whose certificate: `own` (the site's) and `listener` (the status listener's) with the site's"
    " name, `peer` with the peer's, `ca` (`identity.ca`) and `clients` (`status.clients`) with the certificate's"
    " subject",
    "`kind`, `name`": "whose health: `site` with its name, `store` with an empty name, `peer` and `tunnel` with the"
    " peer's name",
    "`code`, `severity`": "[EVENTS.md](EVENTS.md) has all codes; severities are `info`, `warning` and `error`",
}
"""What stands in the column `labels`, and its values."""


def document() -> str:
    """The file's content."""
    labels = "\n".join(f"| {label} | {values} |" for label, values in _LABELS.items())
    return _HEAD.format(labels=labels) + "".join(f"{row}\n" for row in sorted(_rows()))


def _rows() -> Iterator[str]:
    declared: list[Declaration[Any]] = [*DECLARATIONS, *STREAM_DECLARATIONS, *WATCH_DECLARATIONS]
    for each in declared:
        counter, histogram = each.family is CounterMetricFamily, each.family is HistogramMetricFamily
        kind = "counter" if counter else "histogram" if histogram else "gauge"
        labels = ", ".join(f"`{label}`" for label in each.labels)
        yield f"| `{each.name}{'_total' if counter else ''}` | {kind} | {labels} | {each.help} |"


if __name__ == "__main__":
    PATH.write_text(document())
