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

`/metrics` of the status listener, for Prometheus. Names, labels and meanings are public interface: new ones may be
added, and none changes its meaning. Counters begin at 0 when the site starts. Bytes "sent" are from arrays here towards
the peer. What the words mean: [GUIDE.md](GUIDE.md#words).

| label | values |
|---|---|
{labels}

| name | kind | labels | meaning |
|---|---|---|---|
"""


_LABELS = {
    "`peer`": "the peer's name in the site's file",
    "`share`": "`forward NAME` or `export NAME`: what the connections came through",
    "`target`, `unit`": "a volume: the iSCSI target's name, and its LUN as a number, or as 16 hexadecimal digits"
    " where it has several levels. `others`, without share and unit, stands for all volumes that are not told apart",
    "`access`": "`read`, `write`",
    "`waiting`": "what a direction of a stream waited for: [API.md](API.md#waiting) has all",
    "`compression`": "`none`, `none, for speed` while the line is faster than compression, or `zstd` with its level"
    " and, where there is one, the length of its context: `zstd 1`, `zstd 9, 32 MiB`",
    "`outcome`": "`rewritten`, `passed`",
    "`reason`": "`unreachable`, `not_exported`",
    "`zone`": "`green`: unlikely, `yellow`: perhaps, `red`: likely",
    "`role`, `name`": "of a certificate: `own` and `listener` with the site's name, `peer` with the peer's, `ca` and "
    "`clients` with the certificate's subject",
    "`kind`, `name`": "of health: `site` with its name, `store` with none, `peer` and `tunnel` with the peer's",
    "`code`, `severity`": "[EVENTS.md](EVENTS.md) has all; `info`, `warning`, `error`",
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
