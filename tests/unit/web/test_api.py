"""Every route answers what its shape says; parameters are read strictly; the documents are up to date."""

import asyncio
import json
from dataclasses import fields
from typing import Any

import pytest

from proxy.observe.answers import Event, ReloadAnswer
from proxy.observe.codes import STARTED
from proxy.observe.journal import EVENTS_MAX
from proxy.observe.snapshot import Snapshot
from proxy.web.document import documents
from proxy.web.routes import API, ROUTES, Right
from tests.patience import PATIENCE
from tests.unit.observe.snapshots import NOW, changed, stream
from tests.unit.web.stage import LIVE, FakeSite, Stage, hang_up, listening, play, request

READABLE = [route for route in ROUTES if route.right is Right.READ and route.media == "application/json"]
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\x00"


def test_documents_are_up_to_date() -> None:
    for path, text in documents().items():
        assert path.read_text() == text, f"{path.name} is not: run python -m proxy.web.document"


def test_every_route_answers_its_shape() -> None:
    async def scene() -> None:
        site = FakeSite(changed(streams=[stream()]))
        site.tick()
        async with listening(site) as stage:
            for route in READABLE:
                answer = await stage.ask(route.path)
                assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), route.path
                if route.answer is not None:
                    assert set(answer.json) == {field.name for field in fields(route.answer)}, route.path
                head = await stage.ask(route.path, "HEAD")
                assert (head.status, head.body) == (200, b"")

    play(scene)


def test_the_document_names_every_route() -> None:
    async def scene() -> None:
        async with listening() as stage:
            paths = (await stage.ask(f"{API}/openapi.json")).json["paths"]
            assert set(paths) == {route.path for route in ROUTES}

    play(scene)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("history?range=2h", "range is none of 5m, 1h"),
        ("history?of=peer%20nobody", "no series"),
        ("streams?limit=0", "number from 1 to 1000"),
        ("streams?limit=-1", "number"),
        ("streams?limit=1e3", "number"),
        ("streams?limit=%D9%A3", "number"),
        ("status?streams=some", "streams is none of none"),
        ("streams?order=fast", "order is none of"),
        ("streams?direction=up", "direction is none of outward, inward"),
        ("streams?pear=west", "no such parameter: 'pear'"),
        ("streams?search=" + "x" * 201, "longer than 200"),
        ("events?after=99999999999999999999", "number"),
        ("events?limit=", "number"),
    ],
)
def test_wrong_parameters_are_named(query: str, says: str) -> None:
    async def scene() -> None:
        site = FakeSite()
        site.tick()
        async with listening(site) as stage:
            answer = await stage.ask(f"{API}/{query}")
            assert answer.status == 400
            assert says in answer.json["error"]
            assert answer.json["remedy"]

    play(scene)


def test_streams_are_filtered() -> None:
    async def scene() -> None:
        async with listening(FakeSite(changed(streams=[stream(id=1), stream(id=2, peer="north")]))) as stage:
            answer = (await stage.ask(f"{API}/streams?peer=north&order=age&limit=5")).json
            assert ([each["id"] for each in answer["streams"]], answer["total"], answer["matching"]) == ([2], 2, 1)

    play(scene)


def test_events_after_a_number() -> None:
    async def scene() -> None:
        site = FakeSite()
        for at in range(3):
            site.watch.journal.note(STARTED, "site", f"start {at}", NOW + at)
        async with listening(site) as stage:
            answer = (await stage.ask(f"{API}/events?after=1")).json
            assert [event["number"] for event in answer["events"]] == [2, 3]
            assert set(answer["events"][0]) == {field.name for field in fields(Event)}

    play(scene)


def test_all_events_that_are_kept_come_in_one_answer() -> None:
    async def scene() -> None:
        site = FakeSite()
        for at in range(EVENTS_MAX):
            site.watch.journal.note(STARTED, "site", f"start {at}", NOW + at)
        async with listening(site) as stage:
            answer = (await stage.ask(f"{API}/events?limit={EVENTS_MAX}")).json
            assert len(answer["events"]) == EVENTS_MAX

    play(scene)


def test_hostile_names_stay_text() -> None:
    async def scene() -> None:
        async with listening(FakeSite(changed(streams=[stream(initiator=HOSTILE)]))) as stage:
            answer = await stage.ask(f"{API}/streams")
            assert answer.json["streams"][0]["initiator"] == HOSTILE
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"

    play(scene)


@pytest.mark.parametrize(
    "path", ["/healthz", "/metrics", f"{API}/store", f"{API}/health", f"{API}/live", f"{API}/status?streams=none"]
)
def test_what_is_asked_for_often_does_not_look_at_each_stream(path: str) -> None:
    """Of a thousand that took 0.15 s of the loop's time, so long nobody's bytes went on."""

    class Full(FakeSite):
        def take(self) -> Snapshot:
            raise AssertionError("each stream is looked at")

    async def scene() -> None:
        async with listening(Full()) as stage:
            reader, writer = await stage.connect()
            writer.write(request(path))
            assert (await asyncio.wait_for(reader.readline(), PATIENCE)).startswith(b"HTTP/1.1 200 ")
            await hang_up(writer)

    play(scene)


def test_healthz_says_what_a_balancer_wants() -> None:
    async def scene() -> None:
        for changes, status, text in (
            ({}, 200, b"ok\n"),
            ({"draining": True}, 503, b"draining\n"),
            ({"ready": False}, 503, b"starting\n"),
        ):
            async with listening(FakeSite(changed(**changes))) as stage:
                answer = await stage.ask("/healthz")
                assert (answer.status, answer.body) == (status, text)

    play(scene)


def test_drain_and_reload() -> None:
    async def scene() -> None:
        told = ReloadAnswer(False, "east.crt is no certificate", ("peer west",), ("site.name",), draining=False)
        site = FakeSite(reloaded=told)
        async with listening(site) as stage:
            assert (await stage.ask(f"{API}/drain", "POST")).json == {"draining": True}
            assert len(site.drained) == 1
            answer = (await stage.ask(f"{API}/reload", "POST")).json
            changes = {"taken_over": ["peer west"], "awaiting_restart": ["site.name"], "draining": False}
            assert answer == {"reloaded": False, "problem": "east.crt is no certificate"} | changes
            assert [event.code for event in site.watch.journal.after(0, 9).events] == ["IST-407", "IST-407"]
            assert (await stage.ask(f"{API}/drain")).status == 405
            assert (await stage.ask(f"{API}/status", "POST")).headers["allow"] == "GET, HEAD"

    play(scene)


async def frames(stage: Stage, count: int) -> list[tuple[str, Any]]:
    """The first server-sent events of a new connection; a second passes for each."""
    reader, writer = await stage.connect()
    writer.write(LIVE)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b"text/event-stream" in head
    found: list[tuple[str, Any]] = []
    data = b""
    while len(found) < count:
        data += await reader.readline()
        if data.endswith(b"\n\n"):
            name, _, body = data[data.index(b"event: ") :].partition(b"\ndata: ")
            found.append((name.removeprefix(b"event: ").decode(), json.loads(body.strip())))
            data = b""
            stage.site.tick()
    writer.close()
    return found


def test_live() -> None:
    async def scene() -> None:
        site = FakeSite()
        site.tick()
        async with listening(site) as stage:
            found = await frames(stage, 3)
            assert [name for name, _ in found] == ["live"] * 3
            assert [answer["time"] - NOW for _, answer in found] == [1, 2, 3]
            assert found[0][1]["health"]["level"] == "healthy"

    play(scene)
