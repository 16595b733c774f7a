"""Connections that are being admitted when a reload or the end comes: none is left over, whichever step it was at."""

import asyncio
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import make
from tests.patience import PATIENCE, eventually
from tests.unit.web.stage import HEALTHZ, Stage, gate_of, listening, play, trusting

STEPS = range(12)
"""Of the loop, from being accepted: more than an admission takes, with TLS or without."""


@pytest.fixture(params=["plain", "tls"])
def chosen(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What the listener is given, and those who connect."""
    if request.param == "plain":
        return {}
    make(tmp_path / "listener", "localhost")
    certificate = tmp_path / "listener.crt"
    return {"context": trusting(certificate), "certificate": certificate, "key": tmp_path / "listener.key"}


async def ask(stage: Stage) -> None:
    """At once: without TLS the request is there when the connection is accepted."""
    await stay(stage, HEALTHZ, stage.context)


async def say_nothing(stage: Stage) -> None:
    """Not even in a handshake."""
    await stay(stage, b"", None)


async def stay(stage: Stage, words: bytes, context: ssl.SSLContext | None) -> None:
    """Until the listener ends it."""
    connection = socket.create_connection(stage.address)
    if context is None:
        connection.sendall(words)
    name = "localhost" if context else None
    with suppress(OSError):
        reader, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=name)
        try:
            if context is not None:
                writer.write(words)
            await reader.read(-1)
        finally:
            writer.close()


async def being_admitted(stage: Stage, steps: int, visitor: Any) -> "asyncio.Task[None]":
    """Who visits, so many steps after having been accepted."""
    visiting = asyncio.create_task(visitor(stage))
    await eventually(lambda: gate_of(stage).visits > 0, 0.0)
    for _ in range(steps):
        await asyncio.sleep(0)
    return visiting


@pytest.mark.parametrize("visitor", [ask, say_nothing])
def test_a_reload_meets_an_admission(visitor: Any, chosen: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with listening(**chosen) as stage:
            for steps in STEPS:
                visiting = await being_admitted(stage, steps, visitor)
                gate_of(stage).renew()
                await asyncio.wait_for(visiting, PATIENCE)
                await eventually(lambda: gate_of(stage).visits == 0)
            assert (await stage.ask("/healthz")).status == 200

    play(scene)
    assert not caplog.records


@pytest.mark.parametrize("visitor", [ask, say_nothing])
@pytest.mark.parametrize("steps", STEPS)
def test_the_end_meets_an_admission(
    steps: int, visitor: Any, chosen: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with listening(**chosen) as stage:
            visiting = await being_admitted(stage, steps, visitor)
        await asyncio.wait_for(visiting, PATIENCE)
        await eventually(lambda: gate_of(stage).visits == 0)

    play(scene)
    assert not caplog.records


async def say_half_a_record(stage: Stage) -> None:
    """Until the listener ends it: what has come is no data yet."""
    assert stage.context is not None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = stage.context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    reader, writer = await asyncio.open_connection(*stage.address)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            writer.write(outgoing.read())
            incoming.write(await reader.read(1 << 16))
    tls.write(bytes(5000))
    writer.write(outgoing.read()[:-1])
    with suppress(ConnectionError):
        await asyncio.wait_for(reader.read(-1), PATIENCE)
    writer.close()


def test_a_stranger_whose_tls_brings_no_data_is_not_let_in_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Updates of keys, of 27 bytes each, kept the loop from everything else for as long as they came: one needs neither
    a token nor a certificate for that."""
    make(tmp_path / "listener", "localhost")
    certificate = tmp_path / "listener.crt"
    parties = iter(["192.0.2.1", "192.0.2.1", "192.0.2.2"])
    monkeypatch.setattr("proxy.web.gate.party_of", lambda address: next(parties))
    monkeypatch.setattr("proxy.bounded_tls.IDLE_MAX", 1000)

    async def scene() -> None:
        chosen: dict[str, Any] = {"context": trusting(certificate), "certificate": certificate}
        async with listening(**chosen, key=tmp_path / "listener.key") as stage:
            await say_half_a_record(stage)
            await eventually(lambda: gate_of(stage).visits == 0)
            with pytest.raises((ConnectionError, ssl.SSLError)):
                await stage.connect()
            assert (await stage.ask("/healthz")).status == 200

    play(scene)
    assert "192.0.2.1 is not let in for a minute" in caplog.text
