"""A stage for the page: the real files from the real handler, and answers that a `Scene` makes up."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from aiohttp import web

from bench.sites import free_port
from proxy.web.page import Page
from tests.browser.scene import Scene
from tests.patience import PATIENCE

TOKEN = "the token of this stage"


class Stage:
    """A server in a thread of its own. Attributes may be changed from the test's."""

    def __init__(self, scene: Scene, *, token: bool = False) -> None:
        self.scene = scene
        self.silent = False
        """Take requests and answer none of them, as a host that has stopped."""
        self.token = TOKEN if token else ""
        """What it asks for; who listens with another one is sent away."""
        self.turned_away = 0
        self.busy = False
        """Refuse all answers, but for the live ones."""
        self.crowded = False
        """Too many listen already: those who do are sent away."""
        self.port = free_port()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(PATIENCE)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application(middlewares=[self._guard])
        Page().add_to(app)
        app.router.add_get("/api/v1/live", self._live)
        for name, answer in self._answers().items():
            app.router.add_get(f"/api/v1/{name}", _json(answer))
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        self._started.set()
        await self._over.wait()
        await runner.cleanup()

    def _answers(self) -> dict[str, Callable[[web.Request], Any]]:
        return {
            "status": lambda request: self.scene.status,
            "history": self._history,
            "store": lambda request: asdict(self.scene.store),
            "streams": self._streams,
            "events": self._events,
        }

    def _events(self, request: web.Request) -> dict[str, Any]:
        after = int(request.query["after"])
        return {"events": [asdict(event) for event in self.scene.events if event.number > after]}

    def _history(self, request: web.Request) -> dict[str, Any]:
        if request.query["of"] not in self.scene.history.choices:
            raise web.HTTPBadRequest
        return asdict(self.scene.history) | dict(request.query)

    def _streams(self, request: web.Request) -> dict[str, Any]:
        peer, search = request.query.get("peer", ""), request.query.get("search", "")
        matching = [
            asdict(stream) for stream in self.scene.streams if peer in ("", stream.peer) and search in stream.origin
        ]
        return {"total": len(self.scene.streams), "matching": len(matching), "streams": matching}

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        is_api = request.path.startswith("/api/")
        while is_api and self.silent:  # noqa: ASYNC110  (set by another thread)
            await asyncio.sleep(0.05)
        if is_api and not self._may(request):
            self.turned_away += 1
            return web.json_response({"error": "that token is not this listener's", "remedy": ""}, status=401)
        if is_api and self.busy and not request.path.endswith("/live"):
            return web.json_response({"error": "the site has no more time for answers", "remedy": ""}, status=429)
        if self.crowded and request.path.endswith("/live"):
            return web.json_response({"error": "32 listen already", "remedy": ""}, status=429)
        answer: web.StreamResponse = await handler(request)
        return answer

    def _may(self, request: web.Request) -> bool:
        return self.token in ("", request.headers.get("Authorization", "").removeprefix("Bearer "))

    async def _live(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        step = 0
        with contextlib.suppress(ConnectionError):
            while not self._over.is_set() and self._may(request) and not self.crowded:
                if not self.silent:
                    text = json.dumps(asdict(self.scene.live(step)))
                    await response.write(f"event: live\ndata: {text}\n\n".encode())
                step += 1
                await asyncio.sleep(0.5)
        return response


def _json(answer: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(answer(request))

    return handler


@contextlib.contextmanager
def staged(scene: Scene, *, token: bool = False) -> Iterator[Stage]:
    """A stage that is up."""
    stage = Stage(scene, token=token)
    stage.start()
    try:
        yield stage
    finally:
        stage.stop()
