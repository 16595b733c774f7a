"""The status listener: the API and the page, behind the gate and the guard."""

import asyncio
import socket
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

from aiohttp import web

from proxy.errors import OperatorError
from proxy.web.api import Api, Site
from proxy.web.conversation import Conversation, lenient
from proxy.web.gate import Gate, Limits
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

    _rights: Rights
    """Known as soon as there is a gate."""

    def __init__(self, settings: Settings, site: Site, listener: socket.socket, limits: Limits | None = None) -> None:
        """`listener`: bound to the settings' address, and non-blocking."""
        self._settings = settings
        self._listener = listener
        self._site = site
        self._limits = limits or Limits()
        self.gate: Gate | None = None
        """Connections; None before the start."""
        self._stopping = AsyncExitStack()  # what `stop` undoes, the last first
        self._api = Api(site)
        self.live = Live(self._api.live)

    async def start(self) -> None:
        """Begin to answer. Raises OSError if another process listens there, OperatorError for files that cannot be
        used."""

        async def serve_live(request: web.Request) -> web.StreamResponse:
            return await self.live.serve(request, gate.visit_of(request))

        rights = Rights(self._settings)
        app = web.Application()
        self._api.add_to(app, serve_live)
        Page().add_to(app)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=_STOP_SECONDS)
        loop = asyncio.get_running_loop()
        self._listener.listen(_BACKLOG)
        await runner.setup()
        self._stopping.push_async_callback(runner.cleanup)
        server = runner.server
        assert server is not None
        begin = partial(Conversation, server, loop=loop, **self._protocol_options())
        gate = Gate(self._listener, server, begin, lambda: rights.context, self._limits)
        self._stopping.callback(gate.close)  # before the clean-up, so that nobody waits for an answer meanwhile
        budget = Budget(self._limits.requests, self._limits.requests_per_second)
        guard = Guard(self._settings, rights, self._site.watch.journal, gate.visit_of, budget)
        server.request_handler = guard.around(server.request_handler)
        server.request_factory = lenient(server.request_factory)
        self._stopping.push_async_callback(_cancel, loop.create_task(gate.run()))
        self._site.watch.journal.listen(self.live.tell)
        self._site.ticked.extend((self.live.tick, gate.sweep))
        self._rights, self.gate = rights, gate

    async def reload(self) -> str:
        """Read certificates and tokens anew, and end all connections, so that none outlives what it was let in by.

        Returns why the old ones stay in use, or nothing.
        """
        if self.gate is None:
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
        await self._stopping.aclose()
        self._listener.close()

    def _protocol_options(self) -> dict[str, Any]:
        """Options of aiohttp's protocol, the same for each connection."""
        return {
            "keepalive_timeout": self._limits.idle,
            "lingering_time": 0.0,  # bodies are not read, nor unpacked on the way
            "auto_decompress": False,
            "max_line_size": _HEADER_MAX,
            "max_field_size": _HEADER_MAX,
            "access_log": None,
        }


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
