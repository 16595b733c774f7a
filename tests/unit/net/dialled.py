"""A lane that east dials, over TLS: west refuses its certificate, or ends or resets the connection when a test says
so."""

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proxy.net.endings import reset_connection
from proxy.net.lane import Lane
from tests.certificates import make
from tests.lane_owners import TrustingOwner
from tests.patience import PATIENCE


class Owner(TrustingOwner):
    """Who asks whose lane it was when it is lost."""

    def __init__(self) -> None:
        self.shown: tuple[bytes, dict[str, object]] | None = None
        self.reason = ""

    def lost(self, lane: Lane, reason: str) -> None:
        self.shown, self.reason = lane.certificate, reason


@dataclass
class Dialled:
    """A lane whose TLS is up, as far as east knows."""

    lane: Lane
    owner: Owner
    met: threading.Event = field(default_factory=threading.Event)
    """West has taken east's certificate, or refused it."""
    leaves: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)
    _west: ssl.SSLSocket = field(init=False)

    def answer(self, listener: socket.socket, theirs: ssl.SSLContext) -> None:
        """West, on a thread."""
        connection, _ = listener.accept()
        connection.settimeout(PATIENCE)
        with suppress(ssl.SSLError), theirs.wrap_socket(connection, server_side=True) as secured:
            self._west = secured
            self.met.set()
            self.leaves.wait(PATIENCE)
            reset_connection(secured)
        self.met.set()
        self.left.set()

    def end(self) -> None:
        """West ends its side of the connection, and reads nothing."""
        socket.socket.shutdown(self._west, socket.SHUT_WR)

    def reset(self) -> None:
        """West resets the connection, while the loop of the lane hears of nothing."""
        self.leaves.set()
        assert self.left.wait(PATIENCE)


@asynccontextmanager
async def dialled(directory: Path, accepts: str = "east") -> AsyncIterator[Dialled]:
    """`accepts`: the site whose certificate west takes, of those in `directory`. At the end the lane is lost."""
    for site in ("east", "west"):
        make(directory / site, site)
    ours = _context(ssl.PROTOCOL_TLS_CLIENT, directory / "east", directory / "west")
    theirs = _context(ssl.PROTOCOL_TLS_SERVER, directory / "west", directory / accepts)
    owner, loop = Owner(), asyncio.get_running_loop()
    found = Dialled(Lane(owner, dialler=True), owner)  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        answering = asyncio.create_task(asyncio.to_thread(found.answer, listener, theirs))
        where = listener.getsockname()
        await loop.create_connection(lambda: found.lane, *where, ssl=ours, server_hostname="west")
        await asyncio.to_thread(found.met.wait, PATIENCE)
        try:
            yield found
        finally:
            found.leaves.set()
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(answering, found.lane.settled.wait())


def _context(purpose: Any, own: Path, trusted: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(purpose)
    made.load_cert_chain(own.with_suffix(".crt"), own.with_suffix(".key"))
    made.load_verify_locations(trusted.with_suffix(".crt"))
    made.verify_mode = ssl.CERT_REQUIRED
    return made
