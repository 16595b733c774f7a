"""`isthmus status`: once, or anew each second."""

import contextlib
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from proxy.cli.api import Api, fetch_status
from proxy.cli.output import say
from proxy.cli.report import ASKED, report
from proxy.cli.watch import watch as watch_site
from proxy.config.loading import load
from proxy.config.model import SiteConfig
from proxy.errors import OperatorError
from proxy.text import printable

INTERVAL = 1.0
"""Seconds between two looks."""


def run(config: Path, as_json: bool, watch: bool) -> None:
    """Show the status of the site whose file that is."""
    site = load(config, files=False)
    if as_json and watch:
        follow_lines(partial(fetch_status, site))
    elif as_json:
        say(json.dumps(fetch_status(site), indent=2))
    elif not watch:
        Console().print(_page(site))
    elif _keeps_a_page(Console()):
        with contextlib.suppress(KeyboardInterrupt):
            watch_site(site)
    else:
        follow_pages(partial(_page, site))


def _keeps_a_page(console: Console) -> bool:
    """True if it is a terminal whose cursor can be moved back."""
    return console.is_terminal and not console.is_dumb_terminal


def _page(site: SiteConfig) -> RenderableType:
    with Api(site) as api:
        return report({"status": api.status(), **{name: api.get_if_known(name) for name in ASKED}}, time.time())


def follow_lines(fetch: Callable[[], dict[str, Any]], pause: Callable[[float], None] = time.sleep) -> None:
    """One JSON object a line, until Ctrl-C; an error ends it, as other programs would expect."""
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            say(json.dumps(fetch()))
            pause(INTERVAL)


def follow_pages(look: Callable[[], RenderableType], pause: Callable[[float], None] = time.sleep) -> None:
    """One page below the other until Ctrl-C, where there is no terminal to keep one on.

    A site that does not answer is waited for.
    """
    console = Console()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            console.print(_page_or_words(look))
            pause(INTERVAL)


def _page_or_words(look: Callable[[], RenderableType]) -> RenderableType:
    try:
        return look()
    except OperatorError as error:
        return Text(printable(error.message), style="red")
