"""`isthmus status`: once, or anew each second."""

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from proxy.cli.api import fetch_status
from proxy.cli.output import say
from proxy.cli.report import report
from proxy.cli.watch import watch as watch_site
from proxy.config import load
from proxy.errors import OperatorError
from proxy.text import printable

INTERVAL = 1.0
"""Seconds between two looks."""


def run(config: Path, as_json: bool, watch: bool) -> None:
    """Show the status of the site whose file that is."""
    site = load(config, files=False)

    def fetch() -> dict[str, Any]:
        return fetch_status(site)

    if watch and not as_json and Console().is_terminal:
        with contextlib.suppress(KeyboardInterrupt):
            watch_site(site)
    elif watch:
        follow(fetch, as_json=as_json)
    elif as_json:
        say(json.dumps(fetch(), indent=2))
    else:
        Console().print(report(fetch()))


def follow(fetch: Callable[[], dict[str, Any]], *, as_json: bool, pause: Callable[[float], None] = time.sleep) -> None:
    """Show what `fetch` gives again and again until Ctrl-C, where there is no terminal to keep a page on.

    A site that does not answer is waited for.
    """
    try:
        if as_json:
            _follow_lines(fetch, pause)
        else:
            _follow_screen(fetch, pause)
    except KeyboardInterrupt:
        return


def _follow_lines(fetch: Callable[[], dict[str, Any]], pause: Callable[[float], None]) -> None:
    """One JSON object a line; an error ends it, as other programs would expect."""
    while True:
        say(json.dumps(fetch()))
        pause(INTERVAL)


def _follow_screen(fetch: Callable[[], dict[str, Any]], pause: Callable[[float], None]) -> None:
    console = Console()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(_look(fetch), refresh=True)
            pause(INTERVAL)


def _look(fetch: Callable[[], dict[str, Any]]) -> RenderableType:
    try:
        return report(fetch())
    except OperatorError as error:
        return Text(printable(error.message), style="red")
