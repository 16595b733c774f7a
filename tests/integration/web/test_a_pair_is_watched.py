"""Two real sites, traffic between them, an outage: the API tells what happens, and its figures agree."""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from bench.sites import Site, free_port
from proxy.web.routes import API
from tests import patience
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed, drain
from tests.integration.bed.wire import Wire
from tests.integration.web.stage import ask, until, wait_written
from tests.patience import PATIENCE

SIZE = 4 << 20


def codes(site: Site) -> list[str]:
    return [event["code"] for event in ask(site, "events")["events"]]


@contextmanager
def live(site: Site) -> Iterator[Callable[[], Any]]:
    """What server-sent events say, one "live" after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", site.status_port, timeout=PATIENCE)
    connection.request("GET", f"{API}/live")
    response = connection.getresponse()

    def following() -> Any:
        while response.readline() != b"event: live\n":
            pass
        return json.loads(response.readline().removeprefix(b"data: "))

    with closing(connection):
        yield following


def test_traffic_an_outage_and_what_is_told_of_it(bed: Bed) -> None:
    tunnel = ("127.0.0.1", free_port())
    with Array() as array, Wire(tunnel) as wire:
        pair = bed.pair(array.address, tunnel_address=tunnel, dialled=wire.address)
        with pair.running(), live(pair.east) as following:
            content = volume("watched", SIZE)
            for _ in range(2):
                sending = send(cut(content, 1 << 17), pair.entrance)
                whole(receipt(content), sending)
            status = ask(pair.east, "status")
            sent = status["bytes"]["after_compression"]  # the last of it later than it was read
            history = until(
                pair.east, "history?range=5m", lambda answer: answer["waterfall"]["after_compression"] >= sent
            )
            fall = history["waterfall"]
            assert fall["raw"] == status["bytes"]["raw"] == 2 * SIZE
            assert fall["after_deduplication"] == status["bytes"]["after_deduplication"]
            assert fall["after_compression"] == status["bytes"]["after_compression"]
            assert SIZE // 2 < status["bytes"]["literal"] < status["bytes"]["after_deduplication"]
            assert history["summary"]["lan_sent"]["peak"] >= history["summary"]["lan_sent"]["average"] > 0
            assert history["gains"][0]["share"] == "forward array"
            assert history["gains"][0]["raw"] == 2 * SIZE
            assert history["cold"]["raw"] + history["warm"]["raw"] == 2 * SIZE
            assert set(history["choices"]) == {"site", "peer west", "forward array"}
            assert until(pair.east, "health", lambda answer: answer["level"] == "healthy")["reasons"] == []
            while following()["health"]["peers"][0]["tunnel"]["state"] != "up":
                pass  # what was sent before the tunnel came up
            store = ask(pair.west, "store")
            assert store["verified_bytes"] > SIZE
            assert 0 < store["fill"] < 1

            wire.refuse()
            wire.cut()
            down = until(pair.east, "health", lambda answer: answer["level"] == "critical")
            assert down["peers"][0]["tunnel"]["reasons"][0]["code"] == "IST-102"
            while (said := following())["health"]["level"] != "critical":
                pass
            assert said["health"]["since"] == down["since"]
            wire.accept()
            until(pair.east, "health", lambda answer: answer["level"] == "healthy")
            told = codes(pair.east)
            assert told[:2] == ["IST-401", "IST-101"]
            assert "IST-102" in told
            assert told[-1] in ("IST-101", "IST-103")
            assert ask(pair.east, "events?after=1")["events"][0]["code"] == "IST-101"
            _, metrics = pair.east.get("/metrics")
            assert b'isthmus_health{kind="site",name="east"} 0.0' in metrics
            assert b'isthmus_events_total{code="IST-102",severity="error"} 0.0' not in metrics


def test_history_and_events_outlive_a_restart_and_damage(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():
            content = volume("kept", SIZE)
            whole(receipt(content), send(cut(content, 1 << 17), pair.entrance))
            until(pair.east, "history?range=1h", lambda answer: answer["waterfall"]["raw"] == SIZE)
            before = ask(pair.east, "events")
            wait_written(pair.east, bed.directory / "east-history.db", SIZE, len(before["events"]))
        pair.east.start()
        pair.east.wait_ready()
        after = ask(pair.east, "history?range=1h")
        assert (after["waterfall"]["raw"], after["kept"]) == (SIZE, "disk")
        events = ask(pair.east, "events")["events"]
        assert events[: len(before["events"])] == before["events"]
        assert [event["number"] for event in events] == list(range(1, len(events) + 1))
        assert events[-1]["code"] in ("IST-401", "IST-102")
        drain(pair.east)

        kept = bed.directory / "east-history.db"
        kept.write_bytes(kept.read_bytes()[:16] + b"noise" * 5000)
        pair.east.config.write_text(pair.east.config.read_text() + "\n# changed\n")
        pair.east.start()
        pair.east.wait_ready()
        assert {"IST-401", "IST-405"} <= set(codes(pair.east))
        assert ask(pair.east, "history")["waterfall"]["raw"] == 0
        drain(pair.east)


def test_a_place_that_cannot_be_written_is_no_reason_to_stop(bed: Bed) -> None:
    site = bed.site("east", {"west": ("127.0.0.1", 9)})
    place = bed.directory / "east-history.db"
    place.mkdir()
    site.start()
    site.wait_ready()
    assert ask(site, "history")["kept"] == "memory"
    site.wait_for(lambda: "IST-404" in codes(site), "does not tell that history is in memory")
    reasons = ask(site, "health")["reasons"]
    assert [(reason["code"], str(place) in reason["words"]) for reason in reasons] == [("IST-404", True)]
    site.config.write_text(site.config.read_text().replace("[status]\n", '[status]\nhistory = "other.db"\n'))
    drain(site)
    site.start()
    site.wait_ready()
    assert ask(site, "history")["kept"] == "disk"
    site.config.write_text(site.config.read_text() + "# changed\n")
    drain(site)
    site.start()
    site.wait_ready()
    assert "IST-403" in codes(site)
    drain(site)


def test_drain_over_the_api_ends_the_site_in_order(bed: Bed) -> None:
    site = bed.site("east", {"west": ("127.0.0.1", 9)})
    site.start()
    site.wait_ready()
    connection = http.client.HTTPConnection("127.0.0.1", site.status_port, timeout=PATIENCE)
    text = site.config.read_text()
    for changed, awaiting in (("", []), ("\nstreams = 65", ["tunnel.streams"])):
        site.config.write_text(text.replace("[tunnel]", f"[tunnel]{changed}", 1))
        connection.request("POST", f"{API}/reload")
        answer = json.loads(connection.getresponse().read())
        told = {"reloaded": True, "problem": "", "taken_over": [], "awaiting_restart": awaiting, "draining": False}
        assert answer == told
    connection.request("POST", f"{API}/drain")
    assert json.loads(connection.getresponse().read()) == {"draining": True}
    connection.close()
    patience.until(lambda: not site.running, "it does not end")
    assert site.stop() == 0
