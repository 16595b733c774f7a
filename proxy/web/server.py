"""The status listener: `/healthz`, `/api/v1/status`, `/metrics`.

It answers GET and HEAD on loopback only (the configuration sees to that), and only requests whose Host header is a
loopback name: a page in an operator's browser must not read it under a name of its own (DNS rebinding).
"""

import ipaddress
import logging
import re
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.http import HttpProcessingError
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from proxy.observe.metrics import SiteCollector
from proxy.observe.snapshot import Snapshot

log = logging.getLogger(__name__)

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'",
}
_HEADER_MAX = 8190
_IDLE_SECONDS = 15.0
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+))(?::[0-9]*)?")
"""A Host header: an address in brackets or a name, perhaps a port."""


class StatusServer:
    """Loop thread."""

    def __init__(self, host: str, port: int, take: Callable[[], Snapshot]) -> None:
        """`take` yields a snapshot now."""
        self._host = host
        self._port = port
        self._take = take
        self._registry = CollectorRegistry()
        self._registry.register(SiteCollector(take))
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Begin to answer. Raises OSError if the address cannot be had."""
        app = web.Application(middlewares=[_guard], client_max_size=1024)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/api/v1/status", self._status)
        app.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_request_log(),
            keepalive_timeout=_IDLE_SECONDS,
            max_line_size=_HEADER_MAX,
            max_field_size=_HEADER_MAX,
            handler_cancellation=True,
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port, shutdown_timeout=1.0).start()

    async def stop(self) -> None:
        """Answer no more."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, request: web.Request) -> web.Response:
        snapshot = self._take()
        if snapshot.draining or not snapshot.ready:
            return web.Response(status=503, text="draining\n" if snapshot.draining else "starting\n")
        return web.Response(text="ok\n")

    async def _status(self, request: web.Request) -> web.Response:
        return web.json_response(self._take().as_dict())

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class _Blame(logging.Filter):
    """A malformed request is its sender's doing: one line that says what was wrong with it, not a traceback of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Everything passes; what a request is to blame for is put into words."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            record.levelno, record.levelname, record.exc_info = logging.WARNING, "WARNING", None
            record.msg, record.args = "a malformed request to the status listener: %s", (_first_line(error.message),)
        return True


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _request_log() -> logging.Logger:
    logger = logging.getLogger(f"{__name__}.requests")
    logger.addFilter(_BLAME)
    return logger


_BLAME = _Blame()


@web.middleware
async def _guard(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    if not _is_loopback(request.headers.get("Host", "")):
        return web.Response(status=421, text="this listener answers under a loopback address only\n")
    try:
        response = await handler(request)
    except web.HTTPException as error:
        response = web.Response(status=error.status, text=f"{error.reason}\n")
        if error.status == web.HTTPMethodNotAllowed.status_code:
            response.headers["Allow"] = "GET, HEAD"
    response.headers.update(_HEADERS)
    return response


def _is_loopback(host: str) -> bool:
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found[1] or found[2]
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.lower() == "localhost"
