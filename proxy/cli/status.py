"""`isthmus status`: once, or anew each second."""

import contextlib
import json
import os
import time
from pathlib import Path

from rich.console import Console, RenderableType

from proxy.cli.api import asking, fetch_status
from proxy.cli.cells import WIDE, plain
from proxy.cli.output import say
from proxy.cli.report import ASKED, report
from proxy.cli.watch import INTERVAL
from proxy.cli.watch import watch as watch_site
from proxy.config.loading import load
from proxy.config.model import SiteConfig
from proxy.errors import OperatorError


def run(config: Path, as_json: bool, watch: bool) -> None:
    """Show the status of the site whose file that is."""
    site = load(config, files=False)
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            _follow(site, as_json)
    elif as_json:
        say(json.dumps(fetch_status(site), indent=2))
    else:
        _console().print(_page(site))


def _follow(site: SiteConfig, as_json: bool) -> None:
    """Until it is interrupted: one page that is kept, or where no terminal can keep one, one below the other; or one
    JSON object a line, which an error ends, as other programs would expect."""
    console = _console()
    if not as_json and console.is_terminal and not console.is_dumb_terminal:
        watch_site(site)
        return
    while True:
        if as_json:
            say(json.dumps(fetch_status(site)))
        else:
            console.print(_page_or_words(site))
        time.sleep(INTERVAL)


def _console() -> Console:
    """Where there is no terminal, every column has room: rich would take it for one of 80 characters."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    return console


def _page(site: SiteConfig) -> RenderableType:
    with asking(site) as api:
        return report({"status": api.status(), **{name: api.get_if_known(name) for name in ASKED}}, time.time())


def _page_or_words(site: SiteConfig) -> RenderableType:
    """A site that does not answer is waited for."""
    try:
        return _page(site)
    except OperatorError as error:
        return plain(error.message, "red")
