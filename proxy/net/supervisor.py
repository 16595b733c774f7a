"""Tells the service manager that started this process when it is ready, reloads or stops, and that it is still alive.

The protocol is that of sd_notify(3): datagrams to the Unix socket that NOTIFY_SOCKET names. Where there is none nothing
is sent.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Self

log = logging.getLogger(__name__)

_SIGNS = 2
"""Signs of life within the watchdog's period: one may be late."""
_STARTING, _MORE = 20.0, 90.0
"""Seconds: how often more time is asked for while a start takes long, and how much."""


class Supervisor:
    """The service manager. What cannot be sent is dropped: replication does not depend on it. Loop thread."""

    def __init__(self, address: str | None, watchdog: float | None = None) -> None:
        """`address`: of a Unix socket, with "@" before an abstract name; `watchdog`: seconds within which the service
        manager wants a sign of life. Without an address nothing is sent, without a watchdog no signs of life."""
        self._address = f"\0{address[1:]}" if address is not None and address.startswith("@") else address
        self._pause = None if watchdog is None or address is None else watchdog / _SIGNS
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The service manager that the environment names, with its watchdog if that is meant for this process."""
        address = environment.get("NOTIFY_SOCKET", "")
        if address[:1] not in ("/", "@"):
            return cls(None)
        period = environment.get("WATCHDOG_USEC", "")
        ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        return cls(address, int(period) / 1e6 if period.isdecimal() and int(period) and ours else None)

    @asynccontextmanager
    async def starting(self, words: str) -> AsyncIterator[None]:
        """In this `with` block, which may take minutes before everything listens, ask for more time again and again.

        `words`: what takes so long.
        """
        task = asyncio.get_running_loop().create_task(self._wait(words))
        try:
            yield
        finally:
            task.cancel()

    def ready(self, words: str) -> None:
        """Everything listens. From now on signs of life are given by the loop, so they end if it stands still."""
        self._say("READY=1", f"STATUS={words}")
        if self._pause is not None and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._live(self._pause))

    def reloading(self) -> None:
        """Certificates are read anew; `ready` follows."""
        self._say("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, seconds: float) -> None:
        """Nothing more is accepted, and the end may take so many seconds. Signs of life go on."""
        self._say("STOPPING=1", "STATUS=drains", f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}")

    async def close(self) -> None:
        """No more signs of life."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _wait(self, words: str) -> None:
        while True:
            await asyncio.sleep(_STARTING)
            log.info("%s, which takes long", words)
            self._say(f"STATUS={words}", f"EXTEND_TIMEOUT_USEC={round(_MORE * 1e6)}")

    async def _live(self, pause: float) -> None:
        while True:
            self._say("WATCHDOG=1")
            await asyncio.sleep(pause)

    def _say(self, *lines: str) -> None:
        if self._address is None:
            return
        # Words may name a path, which may have any bytes.
        message = "\n".join(line.replace("\n", " ") for line in lines).encode(errors="backslashreplace")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as out:
                out.sendto(message, self._address)
        except OSError as error:
            log.debug("the service manager cannot be told %s: %s", lines[0], error)
