"""Requests that do not wait for an answer wait themselves: beyond a few they stay with whoever sends them."""

import asyncio

import pytest

from proxy.web.routes import API
from tests.patience import PATIENCE
from tests.unit.web.stage import Stage, listening, play, request

MUCH = 64 << 20
"""Bytes: more than both ends' kernels hold."""
STILL = 20
"""So many answers later nothing more has been taken."""
ANOTHER = request("/")
UPGRADE = {"Connection": "upgrade", "Upgrade": "websocket"}


async def left(stage: Stage, writer: asyncio.StreamWriter) -> int:
    """What the listener takes no more, though it answers others."""
    sizes = [0]
    while len(sizes) <= STILL or sizes[-STILL] != sizes[-1]:
        assert (await stage.ask("/")).status == 200
        sizes.append(writer.transport.get_write_buffer_size())
    return sizes[-1]


@pytest.mark.parametrize("upgrade", [{}, UPGRADE])
def test_what_comes_behind_a_request_that_is_being_answered_is_bounded(upgrade: dict[str, str]) -> None:
    """Server-sent events are an answer that never ends, so nothing behind their request is ever answered."""

    async def scene() -> None:
        async with listening() as stage:
            reader, writer = await stage.connect()
            writer.write(request(f"{API}/live", **upgrade))
            await asyncio.wait_for(reader.readuntil(b"event: live"), PATIENCE)
            writer.write(ANOTHER * (MUCH // len(ANOTHER)))
            assert await left(stage, writer) > MUCH // 2
            writer.transport.abort()

    play(scene)
