"""The page of a real site while real traffic flows: its figures are the API's, and what fails shows."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from bench.sites import Pair, Site
from proxy.cli import cells
from tests.browser.traffic import Traffic, busy_pair
from tests.browser.window import OpenWindow, Window, eventually

Error = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (group test)").Error

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def busy() -> Iterator[tuple[Pair, Traffic]]:
    with busy_pair() as busy:
        yield busy


def address(site: Site) -> str:
    return f"http://127.0.0.1:{site.status_port}/"


def api(site: Site, path: str) -> Any:
    code, body = site.get(f"/api/v1/{path}")
    assert code == 200, body
    return json.loads(body)


def waterfall(answer: dict[str, Any]) -> list[str]:
    """The figures of the page's waterfall, from an answer of the history."""
    part = answer["waterfall"]
    left = [part["raw"], part["after_deduplication"], part["after_compression"], part["wire"] + part["retransmitted"]]
    return [cells.size(value) for value in left]


def shown_waterfall(page: Window) -> list[str]:
    return page.texts("#waterfall li:not(.step) .figure")


def test_figures_are_the_api_s_while_traffic_flows(busy: tuple[Pair, Traffic], window: OpenWindow) -> None:
    """Of each answer that the page itself was given: it stands there to the digit until the next one comes."""
    pair, _ = busy
    page = window("about:blank")
    answers: list[dict[str, Any]] = []

    def take(response: Any) -> None:
        with contextlib.suppress(Error):  # one that the page gave up
            if "/history" in response.url:
                answers.append(response.json())

    page.hear("response", take)
    page.page.goto(address(pair.east))
    page.until_shown()
    seen: set[int] = set()

    def matches() -> bool:
        shown = shown_waterfall(page)
        seen.update(answer["waterfall"]["raw"] for answer in answers if waterfall(answer) == shown)
        return len(seen) >= 3

    eventually(matches, "three different answers stood on the page", page)
    assert min(seen) < max(seen), "the traffic flows"
    page.until_text("#streams-count", "1 of 1 live streams")
    assert page.rows("#streams-table")[0][2] == "forward array"
    assert page.complaints == []


def test_figures_are_the_api_s_to_whoever_else_asks(busy: tuple[Pair, Traffic], window: OpenWindow) -> None:
    """The far site's page beside its API, when the traffic has stopped: health, throughput, store, events."""
    pair, traffic = busy
    page = window(address(pair.west))
    page.until_shown()
    traffic.stop()

    def same() -> bool:
        history, store = api(pair.west, "history?range=5m"), api(pair.west, "store")
        tiles = dict(zip(page.texts("#store-tiles dt"), page.texts("#store-tiles .figure"), strict=True))
        peaks = [row[4] for row in page.rows("#throughput")]
        columns = ("lan_sent", "wan_sent", "wan_retransmitted", "wan_received", "lan_received")
        return (
            tiles.get("Verified") == cells.size(store["verified_bytes"])
            and peaks == [cells.rate(history["summary"][column]["peak"]) for column in columns]
            and shown_waterfall(page) == waterfall(history)
        )

    eventually(same, "the page shows what the API says", page)
    events = api(pair.west, "events")["events"]
    assert [row[2] for row in page.rows("#events-table")] == [event["code"] for event in reversed(events)]
    level = api(pair.west, "health")["level"]
    page.until("(level) => document.getElementById('verdict').dataset.level === level", level)
    assert page.complaints == []


def test_an_outage_of_the_tunnel_and_the_end_of_the_site_show(busy: tuple[Pair, Traffic], window: OpenWindow) -> None:
    pair, _ = busy
    page = window(address(pair.east))
    page.until_text("#ladder", "Tunnel to west")
    page.until_text("#verdict-words", "The tunnel is up")
    pair.west.kill()
    page.until("document.getElementById('verdict').dataset.level === 'critical'")
    page.until("document.querySelectorAll('#reasons .note').length > 0")
    pair.east.kill()
    page.until_text("#signal", "no answer since")
    page.until_text("#lost", "No answer since")
