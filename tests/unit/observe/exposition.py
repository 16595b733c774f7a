"""Metrics as Prometheus reads them: through their text and its own parser."""

from collections.abc import Callable

from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry

from proxy.observe.metrics import DECLARATIONS, SiteCollector
from proxy.observe.snapshot import Snapshot


def exposed(snapshot: Snapshot, chosen: Callable[[str], bool]) -> dict[str, Metric]:
    """By their names, of which those are chosen."""
    registry = CollectorRegistry()
    registry.register(SiteCollector(lambda: snapshot, [one for one in DECLARATIONS if chosen(one.name)]))
    text = generate_latest(registry).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def samples(snapshot: Snapshot, name: str) -> list[tuple[dict[str, str], float]]:
    """Of one metric."""
    (family,) = exposed(snapshot, lambda each: each == name).values()
    return [(sample.labels, sample.value) for sample in family.samples]
