"""What the routes answer: what snapshots and the watch say, and the two requests that act, drain and reload."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from proxy.observe import codes
from proxy.observe.answers import DrainAnswer, LiveAnswer, ReloadAnswer, WarningsAnswer
from proxy.observe.metrics import DECLARATIONS, STREAM_DECLARATIONS, Compressing, SiteCollector
from proxy.observe.snapshot import Snapshot, StreamStatus
from proxy.observe.store_report import store_answer
from proxy.observe.streams import select
from proxy.observe.watch import Watch
from proxy.observe.watch_metrics import WATCH_DECLARATIONS
from proxy.web.answering import BadRequest, answer, encode
from proxy.web.fresh import Fresh
from proxy.web.query import read
from proxy.web.routes import API, ROUTES

log = logging.getLogger(__name__)

STREAMS_LIVE = 50
_READY = b"ok\n"


class Site(Protocol):
    """What the API needs of a site. Loop thread."""

    @property
    def watch(self) -> Watch:
        """What outlasts a snapshot."""

    @property
    def ticked(self) -> list[Callable[[], None]]:
        """Called once a second, when the watch has been fed."""

    def take(self) -> Snapshot:
        """A snapshot, now."""

    def measured(self) -> Snapshot:
        """A snapshot that says of streams only how many there are."""

    def outline(self) -> Snapshot:
        """The same, and without volumes; it costs little, however many streams and volumes there are."""

    def busiest(self, count: int) -> list[StreamStatus]:
        """The live streams that move most, so many of them."""

    def compressing(self) -> Compressing:
        """How many live streams each peer has, by what compresses them."""

    def drain(self) -> None:
        """Begin to drain, and end."""

    async def reload(self) -> ReloadAnswer:
        """Read the site's file, certificates and tokens anew; returns what has come of it."""


class Api:
    """The handlers, by route. Loop thread."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._fresh = Fresh(site.take)
        self._registry = CollectorRegistry()
        self._registry.register(SiteCollector(site.measured, DECLARATIONS))
        self._registry.register(SiteCollector(site.compressing, STREAM_DECLARATIONS))
        self._registry.register(SiteCollector(lambda: site.watch, WATCH_DECLARATIONS))
        self._document = files("proxy.web").joinpath("openapi.json").read_bytes()

    def add_to(self, app: web.Application, live: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        """Answer every route of the table; `live` is the handler of the one that is served elsewhere."""
        handlers: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
            f"{API}/status": self._status,
            f"{API}/health": self._health,
            f"{API}/history": self._history,
            f"{API}/streams": self._streams,
            f"{API}/events": self._events,
            f"{API}/warnings": self._warnings,
            f"{API}/store": self._store,
            f"{API}/live": live,
            f"{API}/openapi.json": self._openapi,
            f"{API}/drain": self._drain,
            f"{API}/reload": self._reload,
            "/metrics": self._metrics,
            "/healthz": self._healthz,
        }
        for route in ROUTES:
            handler = handlers[route.path]
            if route.method == "POST":
                app.router.add_post(route.path, handler)
            else:
                app.router.add_get(route.path, handler, allow_head=route.path != f"{API}/live")

    def live(self) -> LiveAnswer:
        """What a "live" event says, of the second that has passed."""
        watch = self._site.watch
        snapshot = watch.snapshot
        return LiveAnswer(
            site=snapshot.site,
            version=snapshot.version,
            time=watch.health.time,
            uptime_seconds=round(snapshot.uptime_seconds, 1),
            draining=snapshot.draining,
            health=watch.health,
            rates=watch.history.rates,
            bytes=snapshot.bytes,
            warnings=watch.cautions,
            last_event=watch.journal.last,
            streams_total=sum(peer.streams for peer in snapshot.peers),
            streams=self._site.busiest(STREAMS_LIVE),
        )

    async def _status(self, request: web.Request) -> web.Response:
        wanted = _parameters(request)
        return await self._json(request, self._site.measured if wanted["streams"] else self._fresh.snapshot, wanted)

    async def _health(self, request: web.Request) -> web.Response:
        return await self._json(request, lambda: self._site.watch.health)

    async def _history(self, request: web.Request) -> web.Response:
        wanted = _parameters(request)
        try:
            return await self._json(
                request,
                lambda: self._site.watch.history.answer(str(wanted["range"]), str(wanted["of"]), time.time()),
                wanted,
            )
        except KeyError:
            raise BadRequest("of is no series of this site; an answer's `choices` has all of them") from None

    async def _streams(self, request: web.Request) -> web.Response:
        wanted: dict[str, Any] = _parameters(request)
        return await self._json(request, lambda: select(self._fresh.snapshot().streams, **wanted), wanted)

    async def _events(self, request: web.Request) -> web.Response:
        wanted = _parameters(request)
        journal = self._site.watch.journal
        return await self._json(request, lambda: journal.after(int(wanted["after"]), int(wanted["limit"])), wanted)

    async def _warnings(self, request: web.Request) -> web.Response:
        return await self._json(request, lambda: WarningsAnswer(self._site.watch.cautions))

    async def _store(self, request: web.Request) -> web.Response:
        return await self._json(request, self._store_answer)

    def _store_answer(self) -> object:
        snapshot = self._site.outline()
        return store_answer(snapshot, self._site.watch.replaced_last_hour(snapshot))

    async def _json(
        self, request: web.Request, make: Callable[[], object], wanted: Mapping[str, object] = MappingProxyType({})
    ) -> web.Response:
        """What `make` gives, as JSON. It is made when there is time (`Fresh`), once for all requests that want the same
        of that route."""
        body = await self._fresh((request.path, *wanted.values()), lambda: encode(make()))
        return web.Response(body=body, content_type="application/json")

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.Response(body=self._document, content_type="application/json")

    async def _metrics(self, request: web.Request) -> web.Response:
        body = await self._fresh(request.path, lambda: generate_latest(self._registry))
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _healthz(self, request: web.Request) -> web.Response:
        said = await self._fresh(request.path, lambda: _readiness(self._site.outline()))
        return web.Response(status=200 if said == _READY else 503, body=said, content_type="text/plain")

    async def _drain(self, request: web.Request) -> web.Response:
        self._note(request, "drain")
        self._site.drain()
        return answer(DrainAnswer(draining=True))

    async def _reload(self, request: web.Request) -> web.Response:
        self._note(request, "reload")
        return answer(await self._site.reload())

    def _note(self, request: web.Request, what: str) -> None:
        words = f"{what} was asked for over the API from {request.remote}"
        log.info("%s", words)
        self._site.watch.journal.note(codes.CONTROLLED, "listener", words, time.time())


def _readiness(snapshot: Snapshot) -> bytes:
    if snapshot.draining:
        return b"draining\n"
    return _READY if snapshot.ready else b"starting\n"


_PARAMETERS = {route.path: route.parameters for route in ROUTES}


def _parameters(request: web.Request) -> dict[str, str | int]:
    return read(request.query, _PARAMETERS[request.path])
