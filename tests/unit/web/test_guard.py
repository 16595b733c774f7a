"""Who gets what: hosts, pages of other sites, tokens, client certificates, how often (row 37 of the faults)."""

import asyncio
import gc
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proxy.errors import OperatorError
from proxy.observe.answers import ReloadAnswer
from proxy.observe.snapshot import Snapshot
from proxy.web.answering import HEADERS
from proxy.web.parties import THIS_HOST, TOGETHER, Budget, party_of
from proxy.web.routes import API, ROUTES, Right
from tests.certificates import make
from tests.patience import PATIENCE, eventually
from tests.unit.web.stage import (
    HEALTHZ,
    LIVE,
    PATIENT,
    FakeSite,
    gate_of,
    hang_up,
    listening,
    parse,
    play,
    request,
    trusting,
)

STATUS, DRAIN = f"{API}/status", f"{API}/drain"
READING, CONTROL = "r" * 32, "c" * 32


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """Settings of a listener that speaks TLS and asks for tokens."""
    make(tmp_path / "listener", "localhost")
    for name, token in (("token", READING), ("control_token", CONTROL)):
        (tmp_path / name).touch(0o600)
        (tmp_path / name).write_text(token + "\n")
    return {
        "certificate": tmp_path / "listener.crt",
        "key": tmp_path / "listener.key",
        "token": tmp_path / "token",
        "control_token": tmp_path / "control_token",
    }


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8900", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:80", 200),
        ("East.Example:8900", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("192.0.2.1", 421),
        ("[::1", 421),
        ("localhost, evil.example", 421),
    ],
)
def test_hosts(host: str, status: int) -> None:
    async def scene() -> None:
        async with listening(names=("east.example",)) as stage:
            answer = await stage.ask(STATUS, Host=host)
            assert answer.status == status
            assert status == 200 or b"uptime" not in answer.body

    play(scene)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:1"}, 200),
        ({"Origin": "https://localhost:1"}, 403),
        ({"Origin": "http://localhost:2"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, 403),
    ],
)
def test_pages_of_other_sites(headers: dict[str, str], status: int) -> None:
    async def scene() -> None:
        site = FakeSite()
        async with listening(site) as stage:
            assert (await stage.ask(STATUS, Host="localhost:1", **headers)).status == status
            assert (await stage.ask(DRAIN, "POST", Host="localhost:1", **headers)).status == status
            assert len(site.drained) == (status == 200)

    play(scene)


def test_a_link_to_the_page_may_be_followed() -> None:
    async def scene() -> None:
        async with listening() as stage:
            followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
            assert (await stage.ask("/", **followed)).status != 403

    play(scene)


def test_tokens(files: dict[str, Any]) -> None:
    """No data without a token; reading does not drain; control may read; who is refused is told, and an event."""
    wrong = ["", "Bearer", f"Bearer {READING}x", f"Bearer {READING[:-1]}", f"Basic {READING}", "Bearer \xff", READING]

    async def scene() -> None:
        site = FakeSite()
        site.tick()
        async with listening(site, context=trusting(files["certificate"]), **files) as stage:
            for path in [route.path for route in ROUTES if route.right is Right.READ] + ["/api/v1/none", "/metrics"]:
                for authorization in wrong[:3]:
                    answer = await stage.ask(path, Authorization=authorization)
                    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="isthmus"'), path
                    assert set(answer.json) == {"error", "remedy"}
            for authorization in wrong:
                assert (await stage.ask(DRAIN, "POST", Authorization=authorization)).status == 401
            assert (await stage.ask(STATUS, Authorization=f"Bearer {READING}")).status == 200
            assert (await stage.ask(STATUS, Authorization=f"bearer {CONTROL}")).status == 200
            assert (await stage.ask(DRAIN, "POST", Authorization=f"Bearer {READING}")).status == 401
            assert len(site.drained) == 0
            assert (await stage.ask(DRAIN, "POST", Authorization=f"Bearer {CONTROL}")).status == 200
            assert len(site.drained) == 1
            assert (await stage.ask("/healthz")).status == 200
            denied = [event for event in site.watch.journal.after(0, 99).events if event.code == "IST-406"]
            assert [event.count > 5 for event in denied] == [True]

    play(scene)


def test_client_certificates(files: dict[str, Any], tmp_path: Path) -> None:
    authority = make(tmp_path / "ca", "ca", authority=True)
    make(tmp_path / "known", "prometheus", signer=authority)
    make(tmp_path / "stranger", "stranger")
    chosen = {**files, "token": None, "clients": tmp_path / "ca.crt"}

    async def scene() -> None:
        async with listening(context=trusting(files["certificate"], tmp_path / "known"), **chosen) as stage:
            assert (await stage.ask(STATUS)).status == 200
            assert (await stage.ask(DRAIN, "POST")).status == 401
            stage.context = trusting(files["certificate"])
            assert (await stage.ask(STATUS)).status == 401
            stage.context = trusting(files["certificate"], tmp_path / "stranger")
            with pytest.raises((OSError, IndexError, ValueError)):
                await stage.ask(STATUS)
            stage.context = trusting(files["certificate"], tmp_path / "known")
            assert (await stage.ask(STATUS)).status == 200

    play(scene)


def test_a_token_is_replaced_and_a_broken_one_is_not_taken(files: dict[str, Any]) -> None:
    async def scene() -> None:
        async with listening(context=trusting(files["certificate"]), **files) as stage:
            files["token"].write_text("short")
            assert "holds no token" in await stage.server.reload()
            assert (await stage.ask(STATUS, Authorization=f"Bearer {READING}")).status == 200
            files["token"].write_text("n" * 40)
            assert await stage.server.reload() == ""
            assert (await stage.ask(STATUS, Authorization=f"Bearer {READING}")).status == 401
            assert (await stage.ask(STATUS, Authorization=f"Bearer {'n' * 40}")).status == 200

    play(scene)


def test_no_connection_outlives_what_it_was_let_in_by(files: dict[str, Any]) -> None:
    """Idle ones, those who listen, and those in their handshake; who is being answered has its answer first."""

    class Reloading(FakeSite):
        async def reload(self) -> ReloadAnswer:
            problem = await reload()
            return ReloadAnswer(not problem, problem, (), (), draining=False)

    reload: Callable[[], Awaitable[str]]
    bearer = {"Authorization": f"Bearer {CONTROL}"}

    async def scene() -> None:
        nonlocal reload
        async with listening(Reloading(), context=trusting(files["certificate"]), **files) as stage:
            reload = stage.server.reload
            idle, viewer, asking = [await stage.connect() for _ in range(3)]
            silent = await asyncio.open_connection(*stage.address)
            idle[1].write(request("/healthz", **bearer))
            await asyncio.wait_for(idle[0].readuntil(b"ok\n"), PATIENCE)
            viewer[1].write(request(f"{API}/live", **bearer))
            await asyncio.wait_for(viewer[0].readuntil(b"event: live"), PATIENCE)
            gate = gate_of(stage)
            await eventually(lambda: gate.visits == 4)
            files["token"].write_text("short")
            assert "holds no token" in await stage.server.reload()
            assert gate.visits == 4
            files["token"].write_text("n" * 40)
            asking[1].write(request(f"{API}/reload", "POST", **bearer))
            answer = parse(await asyncio.wait_for(asking[0].read(-1), PATIENCE))
            assert (answer.status, answer.json["reloaded"]) == (200, True)
            assert answer.headers["connection"] == "close", "so that nobody asks on"
            for reader, _ in (idle, viewer, silent):
                with suppress(ConnectionError):
                    await asyncio.wait_for(reader.read(-1), PATIENCE)
            await eventually(lambda: gate.visits == 0)
            assert (await stage.ask(STATUS, Authorization=f"Bearer {'n' * 40}")).status == 200
            for _, writer in (idle, viewer, asking, silent):
                writer.close()

    play(scene)


def test_unsound_files_are_said_at_the_start(files: dict[str, Any]) -> None:
    files["key"].write_text("no key")

    async def scene() -> None:
        with pytest.raises(OperatorError, match=r"status\.certificate"):
            async with listening(**files):
                pass

    play(scene)


def test_only_tls_1_3(files: dict[str, Any]) -> None:
    async def scene() -> None:
        old = trusting(files["certificate"])
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        async with listening(context=old, **files) as stage:
            with pytest.raises((OSError, IndexError)):
                await stage.ask("/healthz")
            stage.context = None
            with pytest.raises((OSError, IndexError, ValueError)):
                await stage.ask("/healthz")
            stage.context = trusting(files["certificate"])
            assert (await stage.ask("/healthz")).status == 200

    play(scene)


def test_headers_that_keep_others_out() -> None:
    async def scene() -> None:
        async with listening() as stage:
            for path in (STATUS, "/healthz", "/nothing", f"{API}/streams?limit=x"):
                headers = (await stage.ask(path)).headers
                assert headers["cache-control"] == "no-store", path
                assert "default-src 'none'" in headers["content-security-policy"]
                assert headers["x-frame-options"] == "DENY"
                assert "aiohttp" not in headers["server"]
            reader, writer = await stage.connect()
            writer.write(LIVE)
            headers = parse(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)).headers
            assert headers.items() >= {name.lower(): value for name, value in HEADERS.items()}.items()
            await hang_up(writer)

    play(scene)


UNREADABLE = ("http://xn--/", "http://xn--a/", "http://xn--ls8h=.la/", "*")


@pytest.mark.parametrize("target", UNREADABLE)
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_addresses_that_cannot_be_read(target: str, method: str) -> None:
    """They are refused, and are no defect of a task."""

    async def scene() -> None:
        lost: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
        async with listening() as stage:
            answer = await stage.ask(target, method)
            assert (answer.status, answer.headers["server"]) == (400, "isthmus")
            assert set(answer.json) == {"error", "remedy"}
            assert (await stage.ask("/healthz")).status == 200
        gc.collect()
        assert not lost

    play(scene)


@pytest.mark.parametrize(
    "request_",
    [
        b"GET <script> HTTP/1.1\r\n\r\n",
        b"GET /<script> HTTP/1.1\r\nHost: a\r\nHo st: <script>\r\n\r\n",
        b"<script>\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_malformed_requests_are_refused_in_our_form(request_: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """With the headers of every answer, nothing of the request in it, and one line in the log."""

    async def scene() -> None:
        async with listening() as stage:
            reader, writer = await stage.connect()
            writer.write(request_)
            answer = parse(await asyncio.wait_for(reader.read(-1), PATIENCE))
            await hang_up(writer)
            assert (answer.status, answer.json["error"]) == (400, "the request is malformed")
            assert answer.headers.items() >= {name.lower(): value for name, value in HEADERS.items()}.items()

    play(scene)
    (told,) = (record for record in caplog.records if record.name.startswith("proxy"))
    assert (told.levelname, told.exc_info) == ("WARNING", None)
    assert told.getMessage().startswith("a malformed request to the status listener, from 127.0.0.1: ")


def test_a_defect_is_answered_in_our_form_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FakeSite):
        def take(self) -> Snapshot:
            raise ArithmeticError("<script>")

    async def scene() -> None:
        async with listening(Broken()) as stage:
            answer = await stage.ask(STATUS)
            assert (answer.status, answer.headers["server"], set(answer.json)) == (500, "isthmus", {"error", "remedy"})
            assert b"script" not in answer.body

    play(scene)
    assert [record.levelname for record in caplog.records if record.exc_info] == ["ERROR"]


def test_too_many_requests_of_one_party() -> None:
    """The budget is spent on one connection; then 429 says when to come again, and what else was sent is dropped."""

    async def scene() -> None:
        async with listening(limits=replace(PATIENT, requests=5, requests_per_second=1e-3)) as stage:
            reader, writer = await stage.connect()
            writer.write(HEALTHZ * 20)
            answers = await asyncio.wait_for(reader.read(-1), PATIENCE)
            writer.close()
            assert answers.count(b"HTTP/1.1 200") == 5
            assert answers.count(b"HTTP/1.1 429") == 1
            assert b"Retry-After: 1" in answers
            assert b"Connection: close" in answers

    play(scene)


@pytest.mark.parametrize("expected", ["100-continue", "a miracle"])
def test_expectations_are_within_the_rules(expected: str) -> None:
    """They spend the budget, get our form and headers, and end the connection."""

    async def scene() -> None:
        async with listening(limits=replace(PATIENT, requests=2, requests_per_second=1e-3)) as stage:
            for _ in range(2):
                answer = await stage.ask(STATUS, Connection="", Expect=expected)
                assert (answer.status, answer.headers["connection"], answer.headers["server"]) == (
                    417,
                    "close",
                    "isthmus",
                )
                assert set(answer.json) == {"error", "remedy"}
            assert (await stage.ask(STATUS, Connection="", Expect=expected)).status == 429

    play(scene)


def test_strangers_do_not_spend_the_budget_of_who_has_a_token(tmp_path: Path) -> None:
    """Of the same address: as all users and programs of one host are."""
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(READING)

    async def scene() -> None:
        limits = replace(PATIENT, requests=3, requests_per_second=1e-3)
        async with listening(limits=limits, token=tmp_path / "token") as stage:
            assert [(await stage.ask(STATUS)).status for _ in range(5)] == [401] * 3 + [429] * 2
            asked = [await stage.ask(STATUS, Authorization=f"Bearer {READING}") for _ in range(4)]
            assert [answer.status for answer in asked] == [200] * 3 + [429]

    play(scene)


def test_strangers_together_have_a_budget_and_this_host_its_own() -> None:
    budget = Budget(burst=3, rate=2.0)
    assert sum(budget.spend(f"party {number}", 0.0) for number in range(100)) == 3 * TOGETHER
    assert [budget.spend(THIS_HOST, 0.0) for _ in range(4)] == [True, True, True, False]
    assert budget.spend("party 99", 0.0, known=True)
    assert sum(budget.spend(f"party {number}", 1.0) for number in range(100, 200)) == 2 * TOGETHER


def test_budgets() -> None:
    budget = Budget(burst=3, rate=2.0)
    assert [budget.spend("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert budget.spend("b", 0.0)
    assert [budget.spend("a", 1.0) for _ in range(3)] == [True, True, False]
    for number in range(5000):
        budget.spend(f"party {number}", 2.0)
    assert [budget.spend("a", 1000.0) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("address", "party"),
    [
        ("127.0.0.1", "this host"),
        ("127.9.9.9", "this host"),
        ("::1", "this host"),
        ("::ffff:127.0.0.1", "this host"),
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::"),
        ("2001:db8::ffff:1:2:3", "2001:db8::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
    ],
)
def test_parties(address: str, party: str) -> None:
    assert party_of(address) == party
