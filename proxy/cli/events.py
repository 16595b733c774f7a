"""`isthmus events`: what happened at a site, oldest first; from its history file if it does not answer."""

import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from proxy.cli.api import Api
from proxy.cli.cells import SEVERITIES, as_dicts, moment, plain
from proxy.cli.output import say
from proxy.cli.serve import history_of
from proxy.config.loading import load
from proxy.config.model import SiteConfig
from proxy.config.units import DURATION, parse_duration
from proxy.errors import ExitCode, OperatorError
from proxy.history.reading import read_events, why_not_of
from proxy.observe.journal import EVENTS_MAX
from proxy.text import introduced, printable

INTERVAL = 1.0
"""Seconds between two looks."""
LATEST = 50
"""Past events that are shown without --since."""
EVERY_SITE_GIVES = 1000
"""Events that a site of any version gives at once."""

Ask = Callable[[str], dict[str, Any]]
"""What the site answers to a path below /api/v1."""


def run(config: Path, since: str | None, follow: bool, as_json: bool) -> None:
    """Show the events that are kept, and with `follow` those that come. Raises OperatorError."""
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
            kept, words = _kept(site, begin)
            show(kept)
            if not words:
                raise
            raise OperatorError(f"{error.message} ({words})", error.code) from None


def kept_events(site: SiteConfig, most: int) -> list[dict[str, Any]]:
    """The `most` newest events in the file of a site that does not run. Raises FileNotFoundError if there is none, and
    OperatorError if it cannot be read, or is another site's."""
    path = history_of(site)
    try:
        return [asdict(event) for event in read_events(path, site.site.name, most)]
    except FileNotFoundError:
        raise
    except (OSError, sqlite3.Error, ValueError) as error:
        raise OperatorError(_why_unread(path, site.site.name, error)) from None


def _kept(site: SiteConfig, begin: float | None) -> tuple[list[dict[str, Any]], str]:
    """The events in the site's file from then on (None: the latest), and what to tell about that file: nothing if there
    is none, or it has no such event."""
    try:
        events = _since(kept_events(site, LATEST if begin is None else EVENTS_MAX), begin)
    except FileNotFoundError:
        return [], ""
    except OperatorError as error:
        return [], error.message
    return events, f"the events above are what it kept in {history_of(site)}" if events else ""


def _why_unread(path: Path, site: str, error: Exception) -> str:
    if _forbidden(path):
        return f"what it kept in {path} this user may not read: run this as the site's user, or as root"
    if wrong := why_not_of(path, site):
        return f"{wrong}: see status.history"
    why = getattr(error, "strerror", None) or str(error)
    return f"what it kept in {path} cannot be read: {printable(why)}"


def _forbidden(path: Path) -> bool:
    """True if there is such a file, or may be, and this user may not read it."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return not os.access(path, os.R_OK)


def asked_of_it_alone(api: Api) -> Ask:
    """A way to ask the site that sees, at first and after each failure, that no other site answers in its place."""
    known = False

    def ask(what: str) -> dict[str, Any]:
        nonlocal known
        if not known:
            api.status(streams=False)
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
        answer = _next(ask, max(last, 0) if isinstance(last, int) else 0, tell, pause)
        yield as_dicts(answer.get("events"))


def _next(ask: Ask, last: int, tell: Callable[[str], None], pause: Callable[[float], None]) -> dict[str, Any]:
    """The events after that number; waits for a site that does not answer."""
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
        if last and isinstance(newest, int) and newest < last:
            last = 0  # its history was in memory only, and it has begun anew
            continue
        return answer


def events_after(ask: Ask, number: int) -> dict[str, Any]:
    """The events with a greater number: all that the site has, or of an earlier version as many as it gives at once.

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
    words = introduced(printable(str(event.get("subject"))), printable(str(event.get("words"))))
    console.print(plain(head, SEVERITIES.get(severity, "")), plain(words + times), soft_wrap=True)
    if event.get("remedy"):
        console.print(plain(" " * len(head)), plain(f"→ {event['remedy']}"), soft_wrap=True)


def _tell(words: str) -> None:
    say(f"isthmus: {words}; waiting for it", err=True)


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C ends the `with` block: it is how one stops following, not an error."""
    try:
        yield
    except KeyboardInterrupt:
        return
