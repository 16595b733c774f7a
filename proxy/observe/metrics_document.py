"""Writes deploy/METRICS.md from the declarations: `python -m proxy.observe.metrics_document`, in a checkout."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

from proxy.observe.metrics import DECLARATIONS, Declaration
from proxy.observe.watch_metrics import WATCH_DECLARATIONS

PATH = Path(__file__).parents[2] / "deploy" / "METRICS.md"

_HEAD = """\
# Metrics

Written by `python -m proxy.observe.metrics_document`; change `proxy/observe/metrics.py` and `watch_metrics.py`.

`/metrics` of the status listener, for Prometheus. Names, labels and meanings are public interface: new ones may come,
and none changes its meaning. Counters begin at 0 when the site starts; bytes of "sent" are from arrays here towards the
peer. Values of `waiting` are explained in [API.md](API.md#waiting), words that need a meaning in
[GUIDE.md](GUIDE.md#words).

| name | kind | labels | meaning |
|---|---|---|---|
"""


def document() -> str:
    """The file's content."""
    return _HEAD + "".join(f"{row}\n" for row in sorted(_rows()))


def _rows() -> Iterator[str]:
    declared: list[Declaration[Any]] = [*DECLARATIONS, *WATCH_DECLARATIONS]
    for each in declared:
        counter, histogram = each.family is CounterMetricFamily, each.family is HistogramMetricFamily
        kind = "counter" if counter else "histogram" if histogram else "gauge"
        labels = ", ".join(f"`{label}`" for label in each.labels)
        yield f"| `{each.name}{'_total' if counter else ''}` | {kind} | {labels} | {each.help} |"


if __name__ == "__main__":
    PATH.write_text(document())
