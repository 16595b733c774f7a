"""`isthmus status --watch` on a terminal: the page of `watch_report`, anew each second, until q or Ctrl-C."""

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.live import Live

from proxy.cli.api import Api
from proxy.cli.cells import plain
from proxy.cli.fitting import page
from proxy.cli.watch_report import ASKED, sections
from proxy.config.model import SiteConfig
from proxy.errors import OperatorError

INTERVAL = 1.0
"""Seconds between two looks."""


def watch(site: SiteConfig) -> None:
    """Show the site until the operator has seen enough. A site that does not answer is waited for."""
    console = Console()
    with _interruptible(), Api(site) as api, _keys(), Live(console=console, auto_refresh=False, screen=True) as live:
        while True:
            live.update(_look(api, console), refresh=True)
            if _ended(INTERVAL):
                return


def _look(api: Api, console: Console) -> RenderableType:
    try:
        answers = {"status": api.status(streams=False)}
        answers |= {name: api.get_if_known(path) for name, path in ASKED.items()}
    except OperatorError as error:
        return plain(error.message, "red")
    return page(sections(answers, time.time(), console.width), console.height)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt in the `with` block, so that the terminal is left as it was."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _keys() -> Iterator[None]:
    """In the `with` block keys can be read as they are pressed, and are not shown."""
    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, ValueError):
        yield  # stdin is no terminal: only Ctrl-C ends the page
        return
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _ended(seconds: float) -> bool:
    """Wait so many seconds; True as soon as q is pressed."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if not sys.stdin.isatty():
            time.sleep(left)
        elif select.select([sys.stdin], [], [], left)[0]:
            keys = os.read(sys.stdin.fileno(), 64)
            if not keys or b"q" in keys.lower():
                return True
    return False
