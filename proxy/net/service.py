"""`isthmus serve`: one site on one event loop, from the first line of its log to the last."""

import asyncio
import ctypes
import gc
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Protocol

import uvloop

from dedupstore.errors import StoreError
from dedupstore.store import ChunkStore
from proxy.config.model import SiteConfig
from proxy.descriptors import use_all_descriptors
from proxy.errors import ExitCode, OperatorError
from proxy.history.keeper import Keeper
from proxy.net.heap import keep_freed_memory
from proxy.net.listeners import Listeners, unavailable
from proxy.net.opening import open_aside
from proxy.net.site import Site, open_configured_store
from proxy.net.supervisor import Supervisor
from proxy.net.survey import busiest, compressing, measured, outline, survey
from proxy.net.tls import Certificates
from proxy.net.watching import Watching
from proxy.observe import codes
from proxy.observe.answers import ReloadAnswer
from proxy.observe.snapshot import Snapshot, StreamStatus
from proxy.observe.watch import Watch

log = logging.getLogger(__name__)


class StatusListener(Protocol):
    """What shows the site to the outside (`proxy.web`); the command line brings it along."""

    async def start(self) -> None:
        """Begin to answer. Raises OSError if another one listens there, OperatorError for files that are unsound."""

    async def reload(self) -> str:
        """Read certificates and tokens anew; why the old ones stay in use, or nothing."""

    async def stop(self) -> None:
        """Answer no more."""


ENDING = 60.0
"""Seconds that the end may take beyond `tunnel.drain`: to write a store, or to free a large one in memory."""
_SAME_SECONDS = 1.0
"""Interrupts that come within so many seconds count as one."""
HEEDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_NOTED_SECONDS = 0.02
"""Long enough for a thread to note a signal by which it was interrupted."""


@dataclass(slots=True)
class Front:
    """All that a status listener may ask of the site, and have it do. Loop thread."""

    site: Site
    watching: Watching
    stop: asyncio.Event
    supervisor: Supervisor
    listener: StatusListener | None = None
    _reloading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _reloads: set["asyncio.Task[ReloadAnswer]"] = field(default_factory=set)

    @property
    def watch(self) -> Watch:
        """Health, events and history: what is known beyond a snapshot."""
        return self.watching.watch

    @property
    def ticked(self) -> list[Callable[[], None]]:
        """Called once a second, when the watch has been fed."""
        return self.watching.ticked

    def take(self) -> Snapshot:
        """A snapshot, now."""
        return survey(self.site)

    def measured(self) -> Snapshot:
        """As `take`, but of streams only how many there are: to describe a thousand of them takes 0.1 s."""
        return measured(self.site)

    def outline(self) -> Snapshot:
        """As `measured`, and without volumes."""
        return outline(self.site)

    def busiest(self, count: int) -> list[StreamStatus]:
        """The `count` live streams that move most."""
        return busiest(self.site, count)

    def compressing(self) -> Mapping[tuple[str, str], int]:
        """How many live streams each peer has, by what compresses them."""
        return compressing(self.site)

    def drain(self) -> None:
        """Begin to drain, and then end, as after SIGTERM."""
        self.stop.set()

    async def reload(self) -> ReloadAnswer:
        """Read the site's file, certificates, keys, pins and tokens anew, and say what has come of it.

        A reload that has begun is finished even if its caller is cancelled: otherwise only half of them might be new.
        """
        task = asyncio.get_running_loop().create_task(self._reload())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)
        return await asyncio.shield(task)

    async def _reload(self) -> ReloadAnswer:
        async with self._reloading:
            if not self.stop.is_set():
                self.supervisor.reloading()
            taken_over = await self.site.reload()
            listener = await self.listener.reload() if self.listener is not None else ""
            problem = _together(self.site.reload_problem, " ".join(listener.split()))
            code, words = (codes.RELOAD_FAILED, problem) if problem else (codes.RELOADED, _reloaded(taken_over))
            self.watching.journal.note(code, "site", words, time.time())
            if taken_over:
                self.watching.note_host()
            if not self.stop.is_set():
                self.supervisor.ready(_running(self.site))
            return ReloadAnswer(not problem, problem, taken_over, self.site.awaiting, self.site.draining)


def _reloaded(taken_over: Iterable[str]) -> str:
    names = ", ".join(taken_over)
    return "certificates were read anew" + (f", and taken over from the site's file: {names}" if names else "")


def _together(one: str, other: str) -> str:
    """Both problems in one line; a problem that both name once."""
    return one if other in one else "; ".join(each for each in (one, other) if each)


MakeStatusListener = Callable[[socket.socket, Front], StatusListener]
"""Makes a status listener, given a bound socket to listen on."""


def run(config: SiteConfig, make_status: MakeStatusListener, history: Path | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the exit code. Raises OperatorError if it cannot start.

    `history`: the file that keeps history; None keeps it in memory.
    """
    keep_freed_memory()
    use_all_descriptors()
    try:
        return uvloop.run(_serve(config, make_status, history))
    finally:
        ignore_signals()


class Interrupt:
    """SIGINT: the first one begins the drain; a later one, typed by somebody who sees that it drains, ends the wait.

    A second SIGTERM does not: a supervisor that sends it twice is not impatient. Loop thread.
    """

    def __init__(self, stop: asyncio.Event, hurry: asyncio.Event, clock: Callable[[], float]) -> None:
        self._stop, self._hurry, self._clock = stop, hurry, clock
        self._counted = float("-inf")

    def came(self) -> None:
        """SIGINT has come, perhaps twice at once: coreutils' `timeout` and others signal the process and its group."""
        now = self._clock()
        if now - self._counted < _SAME_SECONDS:
            return
        self._counted = now
        (self._hurry if self._stop.is_set() else self._stop).set()


async def _serve(config: SiteConfig, make_status: MakeStatusListener, history: Path | None) -> int:
    stop, hurry, renew = asyncio.Event(), asyncio.Event(), asyncio.Event()
    interrupt = Interrupt(stop, hurry, time.monotonic)
    meaning = {signal.SIGTERM: stop.set, signal.SIGINT: interrupt.came, signal.SIGHUP: renew.set}
    _heed_signals(asyncio.get_running_loop(), meaning)
    supervisor = Supervisor.of()
    with closing(Listeners(config)) as listeners:
        site = await _build(config, supervisor, stop)
        if site is None:
            log.info("site %s has stopped while it opened its store", config.site.name)
            return ExitCode.OK
        watching = Watching(site, Keeper(history) if history is not None else None)
        front = Front(site, watching, stop, supervisor)
        front.listener = make_status(listeners.status, front)
        return await _run(front, front.listener, listeners, renew, hurry)


async def _run(
    front: Front, status: StatusListener, listeners: Listeners, renew: asyncio.Event, hurry: asyncio.Event
) -> int:
    """From the start to the end; the exit code."""
    loop, stop, supervisor = asyncio.get_running_loop(), front.stop, front.supervisor
    site, watching, name = front.site, front.watching, front.site.config.site.name
    try:
        await _start(site, watching, status, listeners)
        reloads = loop.create_task(reload_when_told(front, renew))
        gc.freeze()
        log.info("site %s is ready: %s", name, _summary(site.config))
        supervisor.ready(_running(site))
        await stop.wait()
        seconds = site.config.tunnel.drain
        log.info("site %s drains for %g s at most; SIGINT, or Ctrl-C, ends it", name, seconds)
        watching.drains()
        supervisor.stopping(seconds + ENDING)
        await site.drain("the site shuts down", hurry)
        reloads.cancel()  # not before: a drain may take an hour, in which a certificate is replaced or withdrawn
    finally:
        await status.stop()
        await site.stop()
        await watching.stop()
        await supervisor.close()
    log.info("site %s has stopped", name)
    return ExitCode.DEFECT if site.defect else ExitCode.OK


async def reload_when_told(front: Front, told: asyncio.Event) -> None:
    """Reload whenever `told` is set: once for all signals that came before a reload began, or before the site was up.

    A defect in a reload is logged, and does not keep the next signal from being heeded.
    """
    while True:
        await told.wait()
        told.clear()
        try:
            await front.reload()
        except Exception:
            log.exception("a defect in a reload; what was in use stays in use")


def _heed_signals(loop: asyncio.AbstractEventLoop, meaning: Mapping[signal.Signals, Callable[[], None]]) -> None:
    """Handle signals for the rest of the process's life: the loop's own handlers would end with it, and one more
    signal would kill the process. A SIGHUP that has come since the process began is heeded now."""

    def note(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(meaning[signal.Signals(number)])

    for number in meaning:
        signal.signal(number, note)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, meaning)


def ignore_signals() -> None:
    """Ignore signals from now on. The interpreter takes every other handler away before it frees its memory at the end,
    which can take a while, and a signal would kill the process then.

    The kernel is told first, by libc: a signal that came while `signal.signal` told it would find no Python handler any
    more, which the interpreter reports by a traceback. The same would happen to a signal that has just interrupted
    another thread, if that thread has not noted it yet: so the thread is given a moment.
    """
    libc_signal = ctypes.CDLL(None).signal
    libc_signal.argtypes, libc_signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    for number in HEEDED:
        libc_signal(number, signal.SIG_IGN)
    time.sleep(_NOTED_SECONDS)
    for number in HEEDED:
        signal.signal(number, signal.SIG_IGN)


async def _build(config: SiteConfig, supervisor: Supervisor, stop: asyncio.Event) -> Site | None:
    """The site; None if it was told to stop before its store was open. Raises OperatorError."""
    try:
        certificates = Certificates(config)
    except (OSError, ValueError) as error:
        wrong = f"the site's certificates cannot be used: {error}; make them by `isthmus keygen`, as TLS accepts them"
        raise OperatorError(wrong, ExitCode.CONFIGURATION) from None
    try:
        async with supervisor.starting(f"site {config.site.name} opens its store"):
            store = await _open_store(config, stop)
    except StoreError as error:
        raise OperatorError(str(error), ExitCode.STORE) from None
    return None if store is None else Site(config, store, certificates)


async def _open_store(config: SiteConfig, stop: asyncio.Event) -> ChunkStore | None:
    """The store; None, and no store is left open, if `stop` comes first. Raises StoreError."""
    opened = open_aside(partial(open_configured_store, config))
    opening, stopping = asyncio.wrap_future(opened), asyncio.create_task(stop.wait())
    await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    return None if opened.cancel() else await opening


async def _start(site: Site, watching: Watching, status: StatusListener, listeners: Listeners) -> None:
    """Start everything, last of all what serves arrays. Raises OperatorError."""
    await watching.start()
    site.each_second.append(watching.tick)
    try:
        await status.start()
    except OSError as error:
        raise OperatorError(unavailable("status.listen", site.config.status.listen, error), ExitCode.LISTEN) from None
    await site.start(listeners)


def _running(site: Site) -> str:
    alarms = site.alarms()
    return f"site {site.config.site.name}" + (f", {len(alarms)} alarms: {alarms[0]}" if alarms else "")


def _summary(config: SiteConfig) -> str:
    parts = [f"tunnel on {config.tunnel.listen}"] if config.tunnel.listen else []
    parts += [f"forward {f.name} on {f.listen} to {f.export} at {f.peer}" for f in config.forwards]
    parts += [f"export {e.name} at {e.address} for {', '.join(e.peers)}" for e in config.exports]
    parts.append(f"status on {config.status.listen}")
    return "; ".join(parts)
