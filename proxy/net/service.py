"""`isthmus serve`: one site on one event loop, from the first line of its log to the last."""

import asyncio
import gc
import logging
import signal
from collections.abc import Callable
from types import FrameType
from typing import Protocol

import uvloop

from dedupstore.errors import StoreError
from proxy.config.model import SiteConfig
from proxy.errors import ExitCode, OperatorError
from proxy.net.site import Site, open_configured_store
from proxy.net.supervisor import Supervisor
from proxy.net.survey import survey
from proxy.observe.snapshot import Snapshot

log = logging.getLogger(__name__)


class StatusListener(Protocol):
    """What shows snapshots to the outside (`proxy.web`); the command line brings it along."""

    async def start(self) -> None:
        """Begin to answer. Raises OSError if the address cannot be had."""

    async def stop(self) -> None:
        """Answer no more."""


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

MakeStatusListener = Callable[[str, int, Callable[[], Snapshot]], StatusListener]
"""From host, port, and a function that takes a snapshot."""


def run(config: SiteConfig, make_status: MakeStatusListener) -> int:
    """Serve until SIGTERM or SIGINT; the exit code. Raises OperatorError if it cannot start."""
    try:
        return uvloop.run(_serve(config, make_status))
    finally:
        _ignore_signals()


async def _serve(config: SiteConfig, make_status: MakeStatusListener) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    _stop_by_signal(loop, stop)
    supervisor = Supervisor.of()
    site = _build(config)
    status = make_status(config.status.listen.host, config.status.listen.port, lambda: survey(site))
    try:
        await _start(site, status)
        loop.add_signal_handler(signal.SIGHUP, _reload, site, supervisor)
        gc.freeze()
        log.info("site %s is ready: %s", config.site.name, _summary(config))
        supervisor.ready(_running(site))
        await stop.wait()
        log.info("site %s drains", config.site.name)
        supervisor.stopping("drains")
        await site.drain("the site shuts down")
    finally:
        await status.stop()
        await site.stop()
        await supervisor.close()
    log.info("site %s has stopped", config.site.name)
    return ExitCode.OK


def _stop_by_signal(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """For the rest of the process's life: the loop's own handlers end with it, and one more signal must not kill."""

    def note(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    for number in STOP_SIGNALS:
        signal.signal(number, note)


def _ignore_signals() -> None:
    """The interpreter gives back every handler but this one before it frees its memory, which can take a while."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _build(config: SiteConfig) -> Site:
    try:
        store = open_configured_store(config)
    except StoreError as error:
        raise OperatorError(str(error), ExitCode.STORE) from None
    try:
        return Site(config, store)
    except (OSError, ValueError) as error:
        store.close()
        raise OperatorError(f"the site's certificates cannot be used: {error}", ExitCode.CONFIGURATION) from None


async def _start(site: Site, status: StatusListener) -> None:
    await site.start()
    try:
        await status.start()
    except OSError as error:
        listen = site.config.status.listen
        reason = f"status.listen = {listen}: {error.strerror or error}; free the address or configure another one"
        raise OperatorError(reason, ExitCode.LISTEN) from None


def _reload(site: Site, supervisor: Supervisor) -> None:
    supervisor.reloading()
    site.reload()
    supervisor.ready(_running(site))


def _running(site: Site) -> str:
    alarms = site.alarms()
    return f"site {site.config.site.name}" + (f", {len(alarms)} alarms: {alarms[0]}" if alarms else "")


def _summary(config: SiteConfig) -> str:
    parts = [f"tunnel on {config.tunnel.listen}"] if config.tunnel.listen else []
    parts += [f"forward {f.name} on {f.listen} to {f.export} at {f.peer}" for f in config.forwards]
    parts += [f"export {e.name} at {e.address} for {', '.join(e.peers)}" for e in config.exports]
    parts.append(f"status on {config.status.listen}")
    return "; ".join(parts)
