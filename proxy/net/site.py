"""A site: everything that one Isthmus process runs, put together, started and stopped in order."""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from dedupstore import open_store
from dedupstore.chunker import Chunker
from dedupstore.store import ChunkStore
from proxy import __version__
from proxy.config.difference import difference, ending
from proxy.config.model import SiteConfig
from proxy.errors import OperatorError
from proxy.net.door import Door
from proxy.net.environment import Environment
from proxy.net.forwards import Forwards
from proxy.net.listeners import Listeners, listen_for
from proxy.net.loops import refuse_loops
from proxy.net.peers import Peers
from proxy.net.tls import Certificates
from proxy.net.turns import Turns
from proxy.net.within import Within
from proxy.net.worker import StoreWorker
from proxy.observe.processor import Processor
from proxy.protocol.codes import CloseCode, ResetCode

log = logging.getLogger(__name__)

WITHDRAWN = "its way was changed in the site's file"
"""Why a stream is reset whose forward or export is gone, or leads elsewhere."""
_LOOK = 0.05
"""Seconds between two looks at whether streams live, while the site drains."""


class Site:
    """`start`, then `drain` and `stop`; a site that has stopped is not started again. Loop thread."""

    def __init__(self, config: SiteConfig, store: ChunkStore, certificates: Certificates) -> None:
        self.started = time.time()
        self.began = time.monotonic()
        self.ready = False
        self.draining = False
        self.defect = False
        """It has to stop because of a defect."""
        self.worker = StoreWorker(store)
        self.certificates = certificates
        self.environment = Environment(
            config=config,
            worker=self.worker,
            chunker=Chunker(config.chunking.minimum, config.chunking.average, config.chunking.maximum),
            software=f"isthmus {__version__}",
            processor=Processor(),
            turns=Turns(),
            proves=certificates.proves,
        )
        self.peers = Peers(self.environment, certificates, self._run)
        self.forwards = Forwards(self.peers, config.forwards, self._run)
        self.awaiting: tuple[str, ...] = ()
        """What the site's file says, by the last reload, that only a restart takes over."""
        self._problem = ""
        """Why the last reload did not take over what it could; empty if it did."""
        self.door: Door | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.each_second: list[Callable[[], None]] = []
        """Called once a second, when everything else of that second is done."""

    @property
    def config(self) -> SiteConfig:
        """By which the site runs at present."""
        return self.environment.config

    async def start(self, listeners: Listeners) -> None:
        """Begin to serve. Raises OperatorError naming each address that another process has taken meanwhile."""
        listeners.listen()
        if listeners.tunnel is not None:
            self.door = Door(listeners.tunnel, self.environment, self.certificates, self.peers)
            self._run(self.door.run())
        self.forwards.begin(self.config.forwards, listeners.forwards)
        self.peers.begin()
        self._run(self._upkeep())
        self.worker.prepare()
        self.ready = True

    async def drain(self, reason: str, hurry: asyncio.Event) -> None:
        """Accept nothing new; wait for live streams to end, at most as long as configured; then reset the rest.

        `hurry` ends the wait.
        """
        self.draining = True
        self.forwards.close()
        for peer in self.peers.values():
            peer.drain(reason)
        await self._rest_of_streams(self.config.tunnel.drain, hurry)
        self._retire()
        lanes = [lane for peer in self.peers.values() for lane in peer.lanes]
        for peer in self.peers.values():
            peer.end(CloseCode.SHUTDOWN, reason, ResetCode.SHUTDOWN)
        for lane in lanes:  # CLOSE may have to wait behind much else; `Lane.close` limits how long
            await lane.disconnected.wait()

    async def _rest_of_streams(self, seconds: float, hurry: asyncio.Event) -> None:
        """Wait until no array is to be given anything any more, but for so many seconds at most, or until `hurry`.

        Seconds in which the site, or its host, was stopped do not count.
        """
        with suppress(TimeoutError):
            async with Within(seconds):
                while self.peers.busy and not hurry.is_set():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(hurry.wait(), _LOOK)

    async def stop(self) -> None:
        """Release everything; the store is closed in order."""
        self.ready = False
        self._retire()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.worker.close()

    def _retire(self) -> None:
        """Neither dial nor accept any more."""
        for task in tuple(self._tasks):
            task.cancel()
        if self.door is not None:
            self.door.close()

    async def reload(self) -> tuple[str, ...]:
        """Read the site's file, certificates, keys and pins anew; if they cannot be used, the old ones stay in use.

        A lane ends if the peer's certificate is no longer trusted; streams stay, and wait for another lane. Returns
        what else was taken over from the file (`Difference`).
        """
        file = await self.certificates.reload()
        try:
            return () if file is None else self._take_over(file)
        finally:  # whatever becomes of the rest, trust that was withdrawn is
            self.environment.ask_kernel()
            self.peers.review()

    @property
    def reload_problem(self) -> str:
        """Why the last reload failed, or a part of it; empty if it did not."""
        return self.certificates.problem or self._problem

    def _take_over(self, file: SiteConfig) -> tuple[str, ...]:
        """Take over all that differs, or nothing: so what runs is always a file that was checked as a whole."""
        differing = difference(self.config, file)
        self.awaiting, self._problem = (), ""
        if differing.restart or self.draining:
            self._leave((*differing.restart, *differing.at_once))
            return ()
        if not differing.at_once:
            return ()
        changed = ", ".join(differing.at_once)
        try:
            self._change(file)
        except OperatorError as error:
            why = "; ".join(error.message.splitlines())
            self._problem = f"what was changed ({changed}) is not taken over: {why}"
            log.error("%s", self._problem)
            return ()
        log.info("taken over from %s: %s", file.source, changed)
        return differing.at_once

    def _leave(self, names: tuple[str, ...]) -> None:
        """Have the next start take them over."""
        self.awaiting = names
        if names:
            when = "the next start, since the site drains" if self.draining else "a restart"
            log.info("what else was changed takes effect with %s: %s", when, ", ".join(names))

    def _change(self, file: SiteConfig) -> None:
        """Run by that file, which differs only in what can be taken over. Connections that would not go the same way
        any more are reset, so that arrays connect anew. Raises OperatorError, with nothing changed, if an address
        cannot be had."""
        refuse_loops(file)
        listeners = listen_for(self.forwards.unheard(file.forwards))
        for peer, share in ending(self.config, file):
            self.peers[peer].relays.withdraw(share, WITHDRAWN)
        self.environment.adopt(file)
        self.peers.change()
        self.forwards.change(file.forwards, listeners)
        logging.getLogger().setLevel(file.log.level.upper())

    def alarms(self) -> list[str]:
        """What an operator must know now."""
        of_peers = [alarm for peer in self.peers.values() for alarm in peer.alarms]
        of_reload = [self._problem] if self._problem else []
        return [*self.worker.store.alarms, *self.certificates.alarms, *of_reload, *of_peers]

    def _run(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._see_to_end)
        task.add_done_callback(self._tasks.discard)
        self._tasks.add(task)
        return task

    def _see_to_end(self, task: "asyncio.Task[None]") -> None:
        """A task has ended. They end by cancellation only: a site that has lost one must not go on looking healthy."""
        if not task.cancelled() and (error := task.exception()) is not None:
            log.critical("a defect, the site has to stop: %s", error, exc_info=error)
            self.defect = True
            signal.raise_signal(signal.SIGTERM)

    async def _upkeep(self) -> None:
        """Once a second: do what no event triggers."""
        while True:
            await asyncio.sleep(1)
            self.worker.note()
            self.environment.processor.note(time.thread_time(), time.monotonic())
            self.peers.sample()
            self.forwards.sample()
            for call in self.each_second:
                call()


def open_configured_store(config: SiteConfig) -> ChunkStore:
    """The store that the configuration asks for. Raises StoreError."""
    store = config.store
    return open_store(store.mode, store.size, path=store.path, cache_bytes=store.cache)
