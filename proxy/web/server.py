"""The status listener: the API and the page, behind the gate and the guard."""

import asyncio
import socket
import ssl
from contextlib import suppress
from functools import partial
from typing import Any

from aiohttp import web

from proxy.errors import OperatorError
from proxy.web.api import Api, Site
from proxy.web.conversation import Conversation, lenient
from proxy.web.gate import Gate, Limits, Visit
from proxy.web.guard import Guard
from proxy.web.live import Live
from proxy.web.page import Page
from proxy.web.parties import Budget
from proxy.web.rights import Rights
from proxy.web.settings import Settings

_BACKLOG = 128
_HEADER_MAX = 8190
_STOP_SECONDS = 1.0


class StatusServer:
    """Loop thread."""

    def __init__(self, settings: Settings, site: Site, listener: socket.socket, limits: Limits | None = None) -> None:
        """`listener`: bound to the settings' address, and without blocking."""
        self._settings = settings
        self._listener = listener
        self._site = site
        self._limits = limits or Limits()
        self._rights: Rights | None = None
        self.gate: Gate | None = None
        """Connections; None before the start."""
        self._accepting: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None
        self._api = Api(site)
        self.live = Live(self._api.live)

    async def start(self) -> None:
        """Begin to answer. Raises OSError if another one listens there, OperatorError for files that are unsound."""
        self._rights = Rights(self._settings)
        budget = Budget(self._limits.requests, self._limits.requests_per_second)
        guard = Guard(self._settings, self._rights, self._site.watch.journal, self._visit_of, budget)
        app = web.Application()
        self._api.add_to(app, self._serve_live)
        Page().add_to(app)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=_STOP_SECONDS)
        loop = asyncio.get_running_loop()
        self._listener.listen(_BACKLOG)
        await self._runner.setup()
        server = self._runner.server
        assert server is not None
        server.request_handler = guard.around(server.request_handler)
        server.request_factory = lenient(server.request_factory)
        begin = partial(Conversation, server, loop=loop, **self._protocol_options())
        self.gate = Gate(self._listener, server, begin, self._context, self._limits)
        self._accepting = loop.create_task(self.gate.run())
        self._site.watch.journal.listen(self.live.tell)
        self._site.ticked.extend((self.live.tick, self.gate.sweep))

    async def reload(self) -> str:
        """Read certificates and tokens anew, and end all connections, so that none outlives what it was let in by.

        Why the old ones stay in use, or nothing.
        """
        if self._rights is None or self.gate is None:
            return ""
        try:
            await self._rights.reload()
        except OperatorError as error:
            return error.message
        self.gate.renew()
        return ""

    async def stop(self) -> None:
        """Answer no more."""
        self.live.close()
        if self._accepting is not None:
            self._accepting.cancel()
            with suppress(asyncio.CancelledError):
                await self._accepting
        if self.gate is not None:
            self.gate.close()
        self._listener.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve_live(self, request: web.Request) -> web.StreamResponse:
        return await self.live.serve(request, self._visit_of(request))

    def _visit_of(self, request: web.BaseRequest) -> Visit | None:
        return self.gate.visit_of(request.protocol) if self.gate is not None else None

    def _protocol_options(self) -> dict[str, Any]:
        """Of aiohttp's protocol, the same for each connection."""
        return {
            "keepalive_timeout": self._limits.idle,
            "lingering_time": 0.0,  # bodies are not read, nor unpacked on the way
            "auto_decompress": False,
            "max_line_size": _HEADER_MAX,
            "max_field_size": _HEADER_MAX,
            "access_log": None,
        }

    def _context(self) -> ssl.SSLContext | None:
        return self._rights.context if self._rights is not None else None
