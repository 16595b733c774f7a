"""What the routes answer: reads of snapshots and of the watch, and the two things that may be done."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from proxy.observe import codes
from proxy.observe.answers import DrainAnswer, LiveAnswer, ReloadAnswer, WarningsAnswer
from proxy.observe.metrics import DECLARATIONS, SiteCollector
from proxy.observe.snapshot import Snapshot
from proxy.observe.store_report import store_answer
from proxy.observe.streams import busiest, select
from proxy.observe.watch import Watch
from proxy.observe.watch_metrics import WATCH_DECLARATIONS
from proxy.web.answering import BadRequest, answer
from proxy.web.query import read
from proxy.web.routes import API, ROUTES

log = logging.getLogger(__name__)

STREAMS_LIVE = 50
_SHARE = 0.1
"""Of the loop's time that may go into snapshots, however often they are asked for."""
_PATIENCE = 0.5
"""Seconds that who asks for a new snapshot waits for it at most."""


class Site(Protocol):
    """What is shown, and what may be done to it. Loop thread."""

    @property
    def watch(self) -> Watch:
        """What is kept beyond the moment."""

    @property
    def ticked(self) -> list[Callable[[], None]]:
        """Called once a second, when the watch has been fed."""

    def take(self) -> Snapshot:
        """A snapshot, now."""

    def drain(self) -> None:
        """Begin to drain, and end."""

    def reload(self) -> str:
        """Read certificates and tokens anew; why some of the old ones stay in use, or nothing."""


class Fresh:
    """Snapshots on demand, each taken after it was asked for. Loop thread.

    While one more would cost more than its share, who asks waits, and all who wait are given the same one; only who
    has waited for long is given an older one.
    """

    def __init__(
        self,
        take: Callable[[], Snapshot],
        clock: Callable[[], float] = time.monotonic,
        cost: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._take = take
        self._clock = clock
        self._cost = cost
        self._sleep = sleep
        self._until = 0.0
        self._taken = 0
        self.last: Snapshot
        """The newest; there is one when the first was asked for."""

    async def __call__(self) -> Snapshot:
        """A snapshot that is as new as may be."""
        taken, latest = self._taken, self._clock() + _PATIENCE
        while taken == self._taken and (rest := min(self._until, latest) - self._clock()) > 0:
            await self._sleep(rest)
        if taken == self._taken and self._clock() >= self._until:
            before = self._cost()
            self.last = self._take()
            self._taken += 1
            self._until = self._clock() + (self._cost() - before) / _SHARE
        return self.last


class Api:
    """The handlers, by route. Loop thread."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._take = Fresh(site.take)
        self._registry = CollectorRegistry()
        self._registry.register(SiteCollector(lambda: self._take.last, DECLARATIONS))
        self._registry.register(SiteCollector(lambda: site.watch, WATCH_DECLARATIONS))
        self._document = files("proxy.web").joinpath("openapi.json").read_bytes()

    def add_to(self, app: web.Application, live: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        """Answer every route of the table; `live` is served elsewhere."""
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
            streams_total=len(snapshot.streams),
            streams=busiest(snapshot.streams, STREAMS_LIVE),
        )

    async def _status(self, request: web.Request) -> web.Response:
        return answer(await self._take())

    async def _health(self, request: web.Request) -> web.Response:
        return answer(self._site.watch.health)

    async def _history(self, request: web.Request) -> web.Response:
        wanted = _parameters(request)
        try:
            found = self._site.watch.history.answer(str(wanted["range"]), str(wanted["of"]), time.time())
        except KeyError:
            raise BadRequest("of is no series of this site; an answer's `choices` has all of them") from None
        return answer(found)

    async def _streams(self, request: web.Request) -> web.Response:
        return answer(select((await self._take()).streams, **_parameters(request)))  # type: ignore[arg-type]

    async def _events(self, request: web.Request) -> web.Response:
        wanted = _parameters(request)
        return answer(self._site.watch.journal.after(int(wanted["after"]), int(wanted["limit"])))

    async def _warnings(self, request: web.Request) -> web.Response:
        return answer(WarningsAnswer(self._site.watch.cautions))

    async def _store(self, request: web.Request) -> web.Response:
        snapshot = await self._take()
        return answer(store_answer(snapshot, self._site.watch.replaced_last_hour(snapshot)))

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.Response(body=self._document, content_type="application/json")

    async def _metrics(self, request: web.Request) -> web.Response:
        await self._take()
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _healthz(self, request: web.Request) -> web.Response:
        snapshot = await self._take()
        if snapshot.draining or not snapshot.ready:
            return web.Response(status=503, text="draining\n" if snapshot.draining else "starting\n")
        return web.Response(text="ok\n")

    async def _drain(self, request: web.Request) -> web.Response:
        self._note(request, "drain")
        self._site.drain()
        return answer(DrainAnswer(draining=True))

    async def _reload(self, request: web.Request) -> web.Response:
        self._note(request, "reload")
        problem = self._site.reload()
        return answer(ReloadAnswer(not problem, problem))

    def _note(self, request: web.Request, what: str) -> None:
        words = f"{what} was asked for over the API from {request.remote}"
        log.info("%s", words)
        self._site.watch.journal.note(codes.CONTROLLED, "listener", words, time.time())


_PARAMETERS = {route.path: route.parameters for route in ROUTES}


def _parameters(request: web.Request) -> dict[str, str | int]:
    return read(request.query, _PARAMETERS[request.path])
