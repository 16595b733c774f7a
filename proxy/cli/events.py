"""`isthmus events`: what happened at a site, oldest first; from its file, where it does not answer."""

import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from proxy.cli.api import Api
from proxy.cli.cells import as_dicts, moment, plain
from proxy.cli.output import say
from proxy.cli.serve import history_of
from proxy.config import SiteConfig, load
from proxy.config.units import DURATION, parse_duration
from proxy.errors import ExitCode, OperatorError
from proxy.history.reading import read_events
from proxy.observe.journal import EVENTS_MAX
from proxy.text import printable

INTERVAL = 1.0
"""Seconds between two looks."""
LATEST = 50
"""Events that are shown of those before now, if nobody says since when."""
EVERY_SITE_GIVES = 1000
"""Events at once, whatever its version."""
STYLES = {"info": "", "warning": "yellow", "error": "bold red"}

Ask = Callable[[str], dict[str, Any]]
"""What the site answers to a path below /api/v1."""


def run(config: Path, since: str | None, follow: bool, as_json: bool) -> None:
    """Show those that are kept, and with `follow` those that come."""
    begin = since_when(since, time.time()) if since is not None else None
    site = load(config, files=False)
    show = _show_json if as_json else _show_text
    with Api(site) as api, _until_interrupted():
        try:
            for events in batches(asked_of_it_alone(api), begin, follow=follow, tell=_tell):
                show(events)
        except OperatorError as error:
            if follow or error.code != ExitCode.UNREACHABLE:
                raise
            kept = _kept(site, begin)
            show(kept)
            if not (words := _of_its_file(history_of(site), shown=bool(kept))):
                raise
            raise OperatorError(f"{error.message} ({words})", error.code) from None


def kept_events(site: SiteConfig, most: int) -> list[dict[str, Any]]:
    """The newest so many in the file of a site that does not run. Raises as `read_events`."""
    return [asdict(event) for event in read_events(history_of(site), site.site.name, most)]


def _kept(site: SiteConfig, begin: float | None) -> list[dict[str, Any]]:
    """Those from then on (None: the latest) in its file; none without a file that can be read and is its own."""
    with suppress(OSError, sqlite3.Error, ValueError):
        return _since(kept_events(site, LATEST if begin is None else EVENTS_MAX), begin)
    return []


def _of_its_file(path: Path, *, shown: bool) -> str:
    """What there is to say of it; nothing if no event is in it, or there is none."""
    if shown:
        return f"the events above are what it kept in {path}"
    if _forbidden(path):
        return f"what it kept in {path} this user may not read: run this as the site's user, or as root"
    return ""


def _forbidden(path: Path) -> bool:
    """There is such a file, or may be, and this user may not read it."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return not os.access(path, os.R_OK)


def asked_of_it_alone(api: Api) -> Ask:
    """At first, and after each outage, it is made sure that no other site answers in its place."""
    known = False

    def ask(what: str) -> dict[str, Any]:
        nonlocal known
        if not known:
            api.status()
        known = False
        answer = api.get(what)
        known = True
        return answer

    return ask


def batches(
    ask: Ask,
    begin: float | None,
    *,
    follow: bool,
    tell: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[list[dict[str, Any]]]:
    """Events from then on (seconds since 1970; None: the latest), then with `follow` those that come, without end.

    A site that ceases to answer meanwhile is waited for: `tell` is told why, and again if that changes. Raises
    OperatorError if it does not answer at first.
    """
    answer = ask(f"events?after=0&limit={LATEST}") if begin is None else events_after(ask, 0)
    yield _since(as_dicts(answer.get("events")), begin)
    while follow:
        pause(INTERVAL)
        last = answer.get("last")
        answer = _next(ask, last if isinstance(last, int) else 0, tell, pause)
        yield as_dicts(answer.get("events"))


def _next(ask: Ask, last: int, tell: Callable[[str], None], pause: Callable[[float], None]) -> dict[str, Any]:
    """What came after that number, once the site answers."""
    told = ""
    while True:
        try:
            answer = events_after(ask, last)
        except OperatorError as error:
            if error.message != told:
                tell(error.message)
            told = error.message
            pause(INTERVAL)
            continue
        newest = answer.get("last")
        if isinstance(newest, int) and newest < last:
            last = 0  # its history was in memory only, and it has begun anew
            continue
        return answer


def events_after(ask: Ask, number: int) -> dict[str, Any]:
    """Those with a greater number, all that the site has; if it is of an earlier version, as many as that gives.

    Raises OperatorError.
    """
    try:
        return ask(f"events?after={number}&limit={EVENTS_MAX}")
    except OperatorError as error:
        if error.code == ExitCode.UNREACHABLE:
            raise
        return ask(f"events?after={number}&limit={EVERY_SITE_GIVES}")


def since_when(text: str, now: float) -> float:
    """Seconds since 1970, from "2h" ago or a time of this host such as "2026-11-21 22:30". Raises OperatorError."""
    try:
        if re.fullmatch(DURATION.pattern, text):
            return now - parse_duration(text)
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        remedy = 'write how long ago, such as "2h", or a time of this host, such as "2026-11-21 22:30"'
        raise OperatorError(f"--since {printable(repr(text))} is no time; {remedy}", ExitCode.USAGE) from None


def _since(events: list[dict[str, Any]], begin: float | None) -> list[dict[str, Any]]:
    return [event for event in events if begin is None or _time(event) >= begin]


def _time(event: dict[str, Any]) -> float:
    found = event.get("time")
    return float(found) if isinstance(found, int | float) else 0.0


def _show_json(events: list[dict[str, Any]]) -> None:
    for event in events:
        say(json.dumps(event))


def _show_text(events: list[dict[str, Any]]) -> None:
    console = Console()
    for event in events:
        _show_lines(console, event)


def _show_lines(console: Console, event: dict[str, Any]) -> None:
    """A line, unbroken, and below it the remedy."""
    severity = str(event.get("severity"))
    head = f"{moment(event.get('time'))}  {printable(severity):<8}{printable(str(event.get('code'))):<8}"
    count = event.get("count")
    times = f" ({count} times)" if isinstance(count, int) and count > 1 else ""
    words = f"{printable(str(event.get('subject')))}: {printable(str(event.get('words')))}{times}"
    console.print(plain(head, STYLES.get(severity, "")), plain(words), soft_wrap=True)
    if event.get("remedy"):
        console.print(plain(" " * len(head)), plain(f"→ {event['remedy']}"), soft_wrap=True)


def _tell(words: str) -> None:
    say(f"isthmus: {words}; waiting for it", err=True)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C is how one stops to follow, not an error."""
    try:
        yield
    except KeyboardInterrupt:
        return
