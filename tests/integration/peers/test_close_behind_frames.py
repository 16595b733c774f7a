"""CLOSE behind many frames that take the other side several rounds of its loop: all of it is read, over real TLS.

Otherwise an orderly shutdown under load would be an outage to the other site, and its arrays would wait for its end.
"""

import asyncio
import ssl
import time
from pathlib import Path

import pytest
import uvloop

from proxy.net.lane import Lane
from proxy.net.rounds import LONGEST, Rounds
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.reader import Frame, encode
from tests.certificates import make
from tests.lane_owners import TrustingOwner
from tests.patience import PATIENCE

FRAMES = 20
EACH = LONGEST * 0.6
"""Seconds that each takes its receiver."""


class Owner(TrustingOwner):
    """Of a lane: what came on it."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.seen: list[int] = []
        self.up = asyncio.Event()
        self.gone = asyncio.Event()

    def frame(self, lane: Lane, frame: Frame) -> None:
        self.seen.append(frame.type)
        time.sleep(self.seconds)
        if frame.type == FrameType.CLOSE:
            lane.abort("as a peer does")

    def burst(self, lane: Lane) -> None:
        """Nothing is to be done at the end of a read."""

    def heard(self, lane: Lane) -> None:
        """Nor where that is no whole frame."""

    def writable(self, lane: Lane) -> None:
        """Nor when there is room again."""

    def breach(self, reason: str) -> None:
        raise AssertionError(reason)

    def lost(self, lane: Lane, reason: str) -> None:
        self.gone.set()


class OpenLane(Lane):
    """HELLOs count as exchanged."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.start(self.owner, Rounds())  # type: ignore[arg-type]
        self.owner.up.set()  # type: ignore[attr-defined]


async def talk(here: Owner, there: Owner, certificate: Path) -> None:
    """Frames and CLOSE from here to there, until both have done with it."""
    serving, dialling = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    serving.load_cert_chain(certificate.with_suffix(".crt"), certificate.with_suffix(".key"))
    dialling.check_hostname, dialling.verify_mode = False, ssl.CERT_NONE
    far, near = OpenLane(there, dialler=False), OpenLane(here, dialler=True)  # type: ignore[arg-type]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: far, "127.0.0.1", 0, ssl=serving)
    async with server, asyncio.timeout(PATIENCE):
        await loop.create_connection(lambda: near, "127.0.0.1", server.sockets[0].getsockname()[1], ssl=dialling)
        await there.up.wait()
        near.write([encode(FrameType.DATA, 1, number, bytes(2000)) for number in range(FRAMES)])
        near.close(CloseCode.SHUTDOWN, "the site shuts down")
        await there.gone.wait()
        await near.disconnected.wait()


@pytest.mark.parametrize("turn", range(3))
def test_all_is_read(site_directory: Path, turn: int) -> None:
    make(site_directory / "east", "east")

    async def run() -> list[int]:
        there = Owner(EACH)
        await talk(Owner(), there, site_directory / "east")
        return there.seen

    assert uvloop.run(run()) == [FrameType.DATA] * FRAMES + [FrameType.CLOSE]
