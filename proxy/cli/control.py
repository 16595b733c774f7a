"""`isthmus drain` and `isthmus reload`: have a running site do something."""

import time
from pathlib import Path
from typing import Any

from proxy.aside import DISK_SECONDS
from proxy.cli.api import Api, asking
from proxy.cli.output import say
from proxy.config.loading import load
from proxy.config.model import SiteConfig
from proxy.config.units import show_duration
from proxy.errors import ExitCode, OperatorError
from proxy.net.inquiry import TIMEOUT
from proxy.text import printable, typed

INTERVAL = 0.25
SLACK = 60.0
"""Seconds that a site may take to end beyond `tunnel.drain`: a store is written, the machine may be busy."""

RELOADING = TIMEOUT + 2 * DISK_SECONDS
"""Seconds that a site may take to answer after a reload: it waits for the disk of its own files, and then for that of
the status listener's."""


def drain(config: Path, wait: bool) -> None:
    """Have the site drain; with `wait`, until it has ended. Raises OperatorError."""
    site = load(config, files=False)
    with asking(site) as api:
        started = api.status(streams=False, control=True).get("started")
        api.post("drain")
    limit = show_duration(site.tunnel.drain)
    say(f"{site.site.name} accepts nothing new, gives live streams {limit} to end, and ends.")
    if wait:
        _wait(site, started)
        say(f"{site.site.name} has ended.")


def reload(config: Path) -> None:
    """Have the site read its file, certificates, keys, pins and tokens anew. Raises OperatorError, also if it keeps the
    old ones."""
    site = load(config, files=False)
    with asking(site) as api:
        api.status(streams=False, control=True)  # of this site, and of no other
    with asking(site, RELOADING) as api:
        answer = api.post("reload")
    if answer.get("reloaded") is not True:
        problem = printable(str(answer.get("problem") or "it does not say why"))
        more = f"`{typed('isthmus', 'check', config)}` says more"
        raise OperatorError(f"{site.site.name} keeps what it had: {problem}; {more}")
    say(f"{site.site.name} has read its certificates, keys, pins and tokens anew.")
    if taken_over := answer.get("taken_over"):
        say(f"It has taken over from {config}: {', '.join(map(str, taken_over))}.")
    if (rest := _awaiting_restart(answer)) is not None:
        when = "its next start, since it drains" if answer.get("draining") is True else "a restart"
        say(f"What else was changed in {config} takes effect with {when}{rest}.")


def _awaiting_restart(answer: dict[str, Any]) -> str | None:
    """What was changed, in words; empty if a site of an earlier version does not tell, None if there is nothing."""
    names = answer.get("awaiting_restart")
    if not isinstance(names, list):
        return ""
    return f": {', '.join(map(str, names))}" if names else None


def _wait(site: SiteConfig, started: Any) -> None:
    deadline = time.monotonic() + site.tunnel.drain + SLACK
    while _runs(site, started):
        if time.monotonic() > deadline:
            wrong = f"{site.site.name} still answers after {show_duration(site.tunnel.drain + SLACK)}"
            raise OperatorError(f"{wrong}; its log says what it waits for, and kill -KILL ends its process")
        time.sleep(INTERVAL)


def _runs(site: SiteConfig, started: Any) -> bool:
    """True if the same process still answers, and not another that a supervisor has started since."""
    try:
        with Api(site) as api:
            return bool(api.status(streams=False).get("started") == started)
    except OperatorError as error:
        return error.code != ExitCode.UNREACHABLE
