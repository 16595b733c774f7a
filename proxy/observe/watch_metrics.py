"""Metrics of what the watch keeps: health, warnings, events. As in `metrics`, names are public interface."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from proxy.observe.answers import HealthAnswer, Level, PeerHealth, StoreHealth, TunnelHealth
from proxy.observe.codes import CODES
from proxy.observe.metrics import Declaration, Samples
from proxy.observe.watch import Watch

_ORDER = list(Level)


def _steps(health: HealthAnswer) -> Iterator[tuple[str, str, HealthAnswer | StoreHealth | PeerHealth | TunnelHealth]]:
    """Kind and name of each. Lanes are left out: they come and go, and each would be a series for ever."""
    yield "site", health.site, health
    yield "store", "", health.store
    for peer in health.peers:
        yield "peer", peer.name, peer
        yield "tunnel", peer.name, peer.tunnel


def _levels(watch: Watch) -> Iterator[tuple[tuple[str, ...], float]]:
    yield from (((kind, name), _ORDER.index(step.level)) for kind, name, step in _steps(watch.health))


def _reasons(watch: Watch) -> Samples:
    """Of several with one code the worst: reasons stand worst first."""
    found: dict[tuple[str, ...], float] = {}
    for kind, name, step in _steps(watch.health):
        for reason in step.reasons:
            found.setdefault((kind, name, reason.code), _ORDER.index(reason.level))
    return found.items()


def _warnings(watch: Watch) -> Samples:
    held = [caution.code for caution in watch.cautions]
    return [((code.code,), held.count(code.code)) for code in CODES if code.code >= "IST-5" or code.code in held]


def _events(watch: Watch) -> Samples:
    """All codes from the start, so that a first event is a rise."""
    return [((code.code, code.severity), watch.journal.counts[code.code]) for code in CODES]


WATCH_DECLARATIONS: tuple[Declaration[Watch], ...] = (
    Declaration(
        "isthmus_health",
        GaugeMetricFamily,
        "How healthy it is: 0 healthy, 1 attention, 2 degraded, 3 critical",
        ("kind", "name"),
        _levels,
    ),
    Declaration(
        "isthmus_reason_level",
        GaugeMetricFamily,
        "How bad each reason is why it is not healthy, by code (EVENTS.md): 1 attention, 2 degraded, 3 critical;"
        " no series without a reason",
        ("kind", "name", "code"),
        _reasons,
    ),
    Declaration(
        "isthmus_warnings", GaugeMetricFamily, "Warnings that hold now, by code (EVENTS.md)", ("code",), _warnings
    ),
    Declaration(
        "isthmus_events",
        CounterMetricFamily,
        "Events, by code (EVENTS.md); repetitions count",
        ("code", "severity"),
        _events,
    ),
    Declaration(
        "isthmus_history_on_disk",
        GaugeMetricFamily,
        "1 while history is kept on disk, 0 while it is in memory only (EVENTS.md, IST-404)",
        (),
        lambda watch: [((), float(watch.history.kept == "disk"))],
    ),
)
