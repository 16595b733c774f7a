"""A status listener on loopback, in the test's own loop, before a site that is made of snapshots."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import uvloop

from bench.sites import free_port
from proxy.config.addresses import Address
from proxy.net.listener import bind
from proxy.observe.answers import ReloadAnswer
from proxy.observe.history import History
from proxy.observe.journal import Journal
from proxy.observe.metrics import Compressing
from proxy.observe.snapshot import Snapshot, StreamStatus
from proxy.observe.watch import Watch
from proxy.web.gate import Gate, Limits
from proxy.web.routes import API
from proxy.web.server import StatusServer
from proxy.web.settings import Settings
from tests.patience import PATIENCE
from tests.unit.observe.snapshots import NOW, changed

PATIENT = Limits(idle=PATIENCE, answer=PATIENCE, handshake=PATIENCE)
"""A machine that stands still for seconds ends no connection."""


@dataclass
class FakeSite:
    """What the listener asks of a site; `ticks` seconds pass when the test says so."""

    snapshot: Snapshot = field(default_factory=changed)
    ticked: list[Callable[[], None]] = field(default_factory=list)
    drained: list[int] = field(default_factory=list)
    """The second of each time that it was asked to."""
    reloaded: ReloadAnswer = ReloadAnswer(True, "", (), (), draining=False)  # noqa: RUF009 (it is frozen)
    seconds: int = 0

    def __post_init__(self) -> None:
        self.watch = Watch(Journal(), History(0.0), self.snapshot)

    def take(self) -> Snapshot:
        return self.snapshot

    def measured(self) -> Snapshot:
        return self.snapshot

    def outline(self) -> Snapshot:
        return self.snapshot

    def busiest(self, count: int) -> list[StreamStatus]:
        return self.snapshot.streams[:count]

    def compressing(self) -> Compressing:
        return {("west", "none"): 0}

    def drain(self) -> None:
        self.drained.append(self.seconds)

    async def reload(self) -> ReloadAnswer:
        return self.reloaded

    def tick(self) -> None:
        """A second passes."""
        self.seconds += 1
        self.watch.note(self.snapshot, NOW + self.seconds, float(self.seconds))
        for call in self.ticked:
            call()


@dataclass(frozen=True)
class Answer:
    """Of one request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Stage:
    """A listener that runs."""

    site: FakeSite
    address: Address
    server: StatusServer
    context: ssl.SSLContext | None = None
    """For those who connect."""

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection, over TLS if the listener speaks it."""
        host, port = self.address
        return await asyncio.wait_for(asyncio.open_connection(host, port, ssl=self.context, limit=1 << 24), PATIENCE)

    async def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """One request on a connection of its own."""
        reader, writer = await self.connect()
        writer.write(request(path, method, **{"Host": str(self.address), "Connection": "close"} | headers))
        try:
            return parse(await asyncio.wait_for(reader.read(), PATIENCE))
        finally:
            await hang_up(writer)

    async def listen(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which it is told each second how things are, when that was told first."""
        reader, writer = await self.connect()
        writer.write(LIVE)
        await asyncio.wait_for(reader.readuntil(b"event: live"), PATIENCE)
        return reader, writer


def request(path: str, method: str = "GET", **headers: str) -> bytes:
    """The bytes of one. Underscores of header names are dashes; what is empty is left out."""
    fields = {"Host": "localhost"} | {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode()


HEALTHZ, LIVE = request("/healthz"), request(f"{API}/live")


def trusting(certificate: Path, client: Path | None = None) -> ssl.SSLContext:
    """TLS of those who know the listener's certificate, and show that of `client`, a file without its suffix."""
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    if client is not None:
        context.load_cert_chain(client.with_suffix(".crt"), client.with_suffix(".key"))
    return context


def gate_of(stage: Stage) -> Gate:
    gate = stage.server.gate
    assert gate is not None
    return gate


def parse(data: bytes) -> Answer:
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Answer(int(first.split()[1]), headers, body)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def listening(
    site: FakeSite | None = None,
    *,
    context: ssl.SSLContext | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> AsyncIterator[Stage]:
    site = site or FakeSite()
    chosen = replace(Settings("127.0.0.1"), **settings)
    address = Address(chosen.host, free_port())
    server = StatusServer(chosen, site, bind(address), limits or PATIENT)
    try:
        await server.start()
        yield Stage(site, address, server, context)
    finally:
        await server.stop()


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """Run a test on the loop that the product has."""

    async def whole() -> None:
        await scene()

    uvloop.run(whole())
