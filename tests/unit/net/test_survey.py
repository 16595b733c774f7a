"""What a snapshot says of time (how long something has lasted is no matter of the time of day), and of the store."""

import time
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from dedupstore.store import StoreFigures
from proxy.net.survey import survey


def a_site() -> Any:
    """One without peers, that began a minute ago."""
    store = SimpleNamespace(figures=lambda: StoreFigures("memory", 1 << 30))
    return SimpleNamespace(
        config=SimpleNamespace(site=SimpleNamespace(name="east")),
        started=time.time() - 60,
        began=time.monotonic() - 60,
        ready=True,
        draining=False,
        peers={},
        door=None,
        worker=SimpleNamespace(store=store, prepared=True),
        certificates=SimpleNamespace(status=[], problem=""),
        environment=SimpleNamespace(processor=SimpleNamespace(share=0.0)),
        alarms=list,
    )


@pytest.mark.parametrize("off", [-3600.0, 3600.0])
def test_uptime_is_none_of_the_time_of_days_business(off: float, monkeypatch: pytest.MonkeyPatch) -> None:
    site, clock = a_site(), time.time
    monkeypatch.setattr(time, "time", lambda: clock() + off)
    assert 60 <= survey(site).uptime_seconds < 1000


def test_the_status_has_every_figure_of_the_store_in_its_order() -> None:
    status = asdict(survey(a_site()))["store"]
    assert list(status.items()) == [*asdict(StoreFigures("memory", 1 << 30)).items(), ("prepared", True)]
