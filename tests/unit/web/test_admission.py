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
