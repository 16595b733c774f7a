"""Connections: bounded, counted once, ended when they only hold a place; the listener outlives whatever they do.

Row 38 of what it must survive. Limits are short here, and every wait is for what has to happen.
"""

import asyncio
import re
import resource
import socket
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.http_parser import DeflateBuffer

from bench.sites import free_port
from proxy.config.addresses import Address
from proxy.net.endings import reset_connection
from proxy.net.listener import bind
from proxy.observe.codes import ACCESS_DENIED, STARTED
from proxy.web.api import Api
from proxy.web.gate import Gate
from proxy.web.live import LISTENERS_MAX, PENDING_MAX
from proxy.web.routes import API
from tests.patience import PATIENCE, eventually
from tests.unit.observe.snapshots import NOW, changed, stream
from tests.unit.web.stage import (
    HEALTHZ,
    LIVE,
    PATIENT,
    FakeSite,
    Stage,
    gate_of,
    hang_up,
    listening,
    parse,
    play,
    request,
)

FEW = replace(PATIENT, visits=8, of_a_party=6)
SHORT = replace(FEW, idle=0.05, answer=0.05)
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def crowd(stage: Stage, count: int) -> list[Connection]:
    return [await stage.connect() for _ in range(count)]


async def until_ended(connection: Connection) -> None:
    """Wait until the listener ends it."""
    reader, writer = connection
    with suppress(ConnectionError):
        await asyncio.wait_for(reader.read(-1), PATIENCE)
    writer.close()


async def reading_nothing(stage: Stage, words: bytes) -> socket.socket:
    """A connection of somebody who asks, and takes next to nothing of the answer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, stage.address)
    await loop.sock_sendall(connection, words)
    return connection


async def all_ended(stage: Stage) -> None:
    """The listener has ended all connections, second after second."""
    async with asyncio.timeout(PATIENCE):
        while gate_of(stage).visits:
            stage.site.tick()
            await asyncio.sleep(0.02)


def test_each_connection_is_counted_once() -> None:
    """As many as are allowed find a place, not half and no more; and a place that is left is there for the next."""

    async def scene() -> None:
        async with listening(limits=FEW) as stage:
            for _ in range(3):
                crowd_ = await crowd(stage, FEW.of_a_party)
                await eventually(lambda: gate_of(stage).visits == FEW.of_a_party)
                for _, writer in crowd_:
                    writer.write(HEALTHZ)
                answers = [await reader.readuntil(b"ok\n") for reader, _ in crowd_]
                assert all(parse(answer).status == 200 for answer in answers)
                one_more = await stage.connect()
                await until_ended(crowd_[0])
                assert gate_of(stage).visits == FEW.of_a_party
                for _, writer in (*crowd_, one_more):
                    await hang_up(writer)
                await eventually(lambda: gate_of(stage).visits == 0)

    play(scene)


def test_connections_that_are_reset_before_they_are_accepted() -> None:
    """The listener goes on, however many there are."""

    async def scene() -> None:
        async with listening() as stage:
            for _ in range(4):
                for _ in range(50):  # fewer than wait to be accepted, for the loop does not run meanwhile
                    connection = socket.create_connection(stage.address)
                    reset_connection(connection)
                    connection.close()
                assert (await stage.ask("/healthz")).status == 200
            await eventually(lambda: gate_of(stage).visits == 0)
            assert (await stage.ask("/healthz")).status == 200

    play(scene)


@pytest.mark.parametrize(("minute", "told"), [(3600.0, 1), (0.0, 2)])
def test_failures_of_accept_do_not_end_the_listener(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, minute: float, told: int
) -> None:
    """As the kernel reports them for connections that are gone, or for want of descriptors: told once a minute."""
    monkeypatch.setattr("proxy.web.gate._PAUSE", 0.0)
    monkeypatch.setattr("proxy.web.gate._TOLD_AGAIN", minute)

    async def scene() -> None:
        accept = asyncio.get_running_loop().sock_accept
        failures: list[OSError] = [ConnectionAbortedError(103, "aborted"), ConnectionResetError(104, "reset")]
        failures += [OSError(24, "no more"), OSError(24, "no more")]

        async def failing(listener: socket.socket) -> tuple[socket.socket, Any]:
            if failures:
                raise failures.pop(0)
            return await accept(listener)

        async def answer(request: web.BaseRequest) -> web.Response:
            return web.Response(text="here")

        listener, server = bind(Address("127.0.0.1", free_port())), web.Server(answer)
        gate = Gate(listener, server, server, lambda: None, PATIENT, failing)
        task = asyncio.get_running_loop().create_task(gate.run())
        try:
            for _ in range(3):
                reader, writer = await asyncio.open_connection(*listener.getsockname())
                writer.write(request("/"))
                assert await asyncio.wait_for(reader.readuntil(b"here"), PATIENCE)
                await hang_up(writer)
            assert not failures
        finally:
            task.cancel()
            await asyncio.wait([task])
            gate.close()
            await server.shutdown(1.0)

    play(scene)
    assert caplog.messages == ["the status listener cannot accept: [Errno 24] no more"] * told


def test_who_says_nothing_or_half_a_request_is_ended() -> None:
    async def scene() -> None:
        async with listening(limits=SHORT) as stage:
            silent, half = await crowd(stage, 2)
            half[1].write(b"GET /healthz HTT")
            await eventually(lambda: gate_of(stage).visits == 2)
            await all_ended(stage)
            for connection in (silent, half):
                await until_ended(connection)
                connection[1].close()
            assert (await stage.ask("/healthz")).status == 200

    play(scene)


def test_who_does_not_take_an_answer_is_ended() -> None:
    async def scene() -> None:
        site = FakeSite(changed(streams=[stream(id=number) for number in range(3000)]))
        async with listening(site, limits=SHORT) as stage:
            with await reading_nothing(stage, request(f"{API}/status") * 5):
                await eventually(lambda: gate_of(stage).visits == 1)
                await all_ended(stage)

    play(scene)


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 2",
        "Content-Length: 1073741824",
        "Transfer-Encoding: chunked",
        "Content-Length: 8000\r\nContent-Encoding: deflate",
        "Transfer-Encoding: chunked\r\nContent-Encoding: gzip",
    ],
)
def test_bodies_are_refused_unread(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything else, and the connection ends: nothing is waited for, and nothing is ever unpacked."""
    unpacking: list[object] = []
    monkeypatch.setattr(DeflateBuffer, "__init__", lambda *_, **__: unpacking.append(1))

    async def scene() -> None:
        async with listening() as stage:
            reader, writer = await stage.connect()
            writer.write(f"POST {API}/drain HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
            answer = parse(await asyncio.wait_for(reader.read(-1), PATIENCE))
            assert (answer.status, answer.headers["connection"]) == (413, "close")
            assert not stage.site.drained
            await hang_up(writer)
        assert not unpacking

    play(scene)


def test_a_newcomer_takes_the_place_of_who_is_idle_longest() -> None:
    """Parties with all places cannot lock others out: here one party may have them all."""

    async def scene() -> None:
        async with listening(limits=replace(PATIENT, visits=4, of_a_party=99)) as stage:
            first, *others = await crowd(stage, 4)
            await eventually(lambda: gate_of(stage).visits == 4)
            assert (await stage.ask("/healthz")).status == 200
            await until_ended(first)
            for _, writer in (first, *others):
                writer.close()

    play(scene)


def test_where_descriptors_are_few_there_are_fewer_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Visitors took those that arrays had left, and a tunnel that had lost its lanes had none for another."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))

    async def scene() -> None:
        async with listening(limits=replace(PATIENT, visits=8)) as stage:
            idle = await crowd(stage, 4)
            await eventually(lambda: gate_of(stage).visits == 4)
            assert (await stage.ask("/healthz")).status == 200
            await until_ended(idle[0])
            await eventually(lambda: gate_of(stage).visits == 3)
            for _, writer in idle[1:]:
                await hang_up(writer)

    play(scene)


def test_who_only_holds_places_does_not_lock_out_its_own_party() -> None:
    """All users of a host are one party. Those who are being answered stay."""

    async def scene() -> None:
        async with listening(limits=FEW) as stage:
            viewer = await stage.listen()
            for _ in range(3):
                holding = await crowd(stage, 2 * FEW.of_a_party)
                assert (await stage.ask("/healthz")).status == 200
                for _, writer in holding:
                    writer.close()
            stage.site.tick()
            assert await asyncio.wait_for(viewer[0].readuntil(b"event: live"), PATIENCE)
            await hang_up(viewer[1])

    play(scene)


def test_who_listens_stays_and_who_does_not_read_is_dropped() -> None:
    """One reads and is sent each second; one never does: its frames are bounded, and then it is gone."""

    async def scene() -> None:
        site = FakeSite(changed(streams=[stream(id=number, initiator="x" * 5000) for number in range(50)]))
        async with listening(site, limits=SHORT) as stage:
            reader, writer = await stage.listen()
            with await reading_nothing(stage, LIVE):
                await eventually(lambda: stage.server.live.listeners == 2)
                seconds = 0
                while stage.server.live.listeners > 1:
                    site.tick()
                    seconds += 1
                    await asyncio.wait_for(reader.readuntil(b"event: live"), PATIENCE)
                    await asyncio.sleep(0.01)
                    assert seconds < 1000
                for _ in range(10):
                    site.tick()
                    await asyncio.wait_for(reader.readuntil(b"event: live"), PATIENCE)
                assert stage.server.live.listeners == 1
            await hang_up(writer)
            await eventually(lambda: stage.server.live.listeners == 0)

    play(scene)


def test_one_frame_for_all_who_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent is made once a second, however many listen, and not at all if nobody does."""
    made = 0

    def make(_: Api) -> dict[str, int]:
        nonlocal made
        made += 1
        return {"made": made}

    async def scene() -> None:
        site = FakeSite()
        async with listening(site) as stage:
            for _ in range(5):
                site.tick()
            assert made == 0
            crowd_ = await crowd(stage, 10)
            for _, writer in crowd_:
                writer.write(LIVE)
            await eventually(lambda: stage.server.live.listeners == 10)
            assert made == 1
            site.tick()
            assert made == 2
            for reader, writer in crowd_:
                assert await asyncio.wait_for(reader.readuntil(b'{"made":2}'), PATIENCE)
                writer.close()

    monkeypatch.setattr(Api, "live", make)
    play(scene)


def test_events_come_at_once() -> None:
    async def scene() -> None:
        site = FakeSite()
        async with listening(site) as stage:
            reader, writer = await stage.listen()
            site.watch.journal.note(STARTED, "site", "here we are", NOW)
            assert b"here we are" in await asyncio.wait_for(reader.readuntil(b"here we are"), PATIENCE)
            await hang_up(writer)

    play(scene)


def test_strangers_do_not_throw_out_who_listens() -> None:
    """However many are refused meanwhile: the first is told at once, how many there were with the next second."""

    async def scene() -> None:
        site = FakeSite()
        async with listening(site) as stage:
            reader, writer = await stage.listen()
            for _ in range(1000):
                site.watch.journal.note(ACCESS_DENIED, "listener", "no token", NOW)
            site.tick()
            await asyncio.wait_for(reader.readuntil(b"event: event"), PATIENCE)
            assert b'"count":1}' in await asyncio.wait_for(reader.readuntil(b"event: event"), PATIENCE)
            assert b'"count":1000}' in await asyncio.wait_for(reader.readuntil(b"event: live"), PATIENCE)
            assert stage.server.live.listeners == 1
            await hang_up(writer)

    play(scene)


def test_many_new_events_are_told_in_order_and_bounded() -> None:
    async def scene() -> None:
        site = FakeSite()
        async with listening(site) as stage:
            reader, writer = await stage.listen()
            for at in range(1000):
                site.watch.journal.note(STARTED, f"site {at}", "here we are", NOW)
            site.tick()
            said = await asyncio.wait_for(reader.readuntil(b"event: live"), PATIENCE)
            numbers = [int(number) for number in re.findall(rb'event: event\ndata: {"number":([0-9]+)', said)]
            last = site.watch.journal.last
            assert numbers == [1, *range(last + 1 - PENDING_MAX, last + 1)]
            await hang_up(writer)

    play(scene)


def test_those_who_listen_are_bounded() -> None:
    async def scene() -> None:
        async with listening() as stage:
            crowd_ = await crowd(stage, LISTENERS_MAX)
            for _, writer in crowd_:
                writer.write(LIVE)
            await eventually(lambda: stage.server.live.listeners == LISTENERS_MAX)
            answer = await stage.ask(f"{API}/live")
            assert (answer.status, answer.headers["retry-after"]) == (429, "30")
            for _, writer in crowd_:
                await hang_up(writer)
            await eventually(lambda: stage.server.live.listeners == 0)

    play(scene)
