"""`isthmus store`: stats, verify, purge."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from dedupstore import open_store, purge_store, verify_store
from dedupstore.errors import StoreBusy, StoreError
from dedupstore.store import ChunkStore
from proxy.cli.api import asking
from proxy.cli.cells import as_list, plain, show
from proxy.cli.output import say
from proxy.cli.report import store_table
from proxy.cli.users import as_user, other_owner
from proxy.config.loading import load
from proxy.config.model import SiteConfig
from proxy.errors import ExitCode, OperatorError


def stats(config: Path, as_json: bool) -> None:
    """Show the store's figures, from the running site, or else from the disk."""
    site = load(config, files=False)
    figures = _figures(site)
    alarms = (plain(f"! {alarm}", "bold red") for alarm in as_list(figures.get("alarms")))
    show(figures, [store_table(figures), *alarms], as_json=as_json)


def verify(config: Path) -> int:
    """Verify every chunk; FAILED if something was dropped, lost or set aside, or could not be read."""
    path, site = _disk_store(config, "verify")
    with _translated(), _progress() as progress:
        bar = progress.add_task("", total=None)
        found = verify_store(
            path,
            site.store.size,
            site.store.cache,
            lambda done, total: progress.update(bar, completed=done, total=total),
        )
    _warn(found.alarms)
    say(f"Sound chunks: {found.sound:,}. Damaged ones, which were dropped: {found.dropped:,}.")
    return ExitCode.OK if found.whole else ExitCode.FAILED


def purge(config: Path, yes: bool) -> None:
    """Empty the store, if the operator says so."""
    path, _ = _disk_store(config, "purge")
    if not yes:
        _confirm(f"Empty the store in {path}?")
    with _translated():
        purge_store(path)
    say(f"The store in {path} is empty.")


def _confirm(question: str) -> None:
    """Raises OperatorError (USAGE) unless somebody says yes, Abort if it is interrupted at a terminal."""
    try:
        confirmed = click.confirm(question)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        say("", err=True)  # ends the question's line
        raise OperatorError("nothing was purged: nobody has answered; add --yes", ExitCode.USAGE) from None
    if not confirmed:
        raise OperatorError("nothing was purged", ExitCode.USAGE)


def _figures(site: SiteConfig) -> dict[str, Any]:
    """The store's figures: those of the running site, or else of the store on disk."""
    try:
        with asking(site) as api:
            figures = api.status(streams=False).get("store")
    except OperatorError as error:
        if error.code != ExitCode.UNREACHABLE or site.store.mode == "memory":
            raise
        with _opened(site, _existing(site, "stats"), busy=f", and there is {error.message}") as store:
            return asdict(store.figures())
    return figures if isinstance(figures, dict) else {}


def _disk_store(config: Path, action: str) -> tuple[Path, SiteConfig]:
    """The directory of the site's disk store. Raises OperatorError if it has none."""
    site = load(config, files=False)
    if site.store.mode == "memory":
        wrong = f"the store of site {site.site.name} is in memory: it ends with the site, and nothing of it is on disk"
        raise OperatorError(f"{wrong}; to empty it, restart the site", ExitCode.STORE)
    return _existing(site, action), site


def _existing(site: SiteConfig, action: str) -> Path:
    """The directory of the store. Raises OperatorError if there is none, or it is another user's: what root writes
    there the site's user could not open."""
    path = site.store.path
    assert path is not None  # proxy.config sees to that
    command = "isthmus", "store", action, site.source
    try:
        present = {"containers", "index"} & set(os.listdir(path))
    except FileNotFoundError:
        present = set()
    except OSError as error:
        remedy = "name a directory as store.path"
        if isinstance(error, PermissionError):
            owner = other_owner(path) or other_owner(site.identity.key)
            remedy = as_user(owner, *command) if owner else "run this as the site's user"
        raise OperatorError(f"store {path} cannot be looked into: {error.strerror}; {remedy}", ExitCode.STORE) from None
    if not present:
        raise OperatorError(f"there is no store in {path} yet; `isthmus serve` makes it", ExitCode.STORE)
    if owner := other_owner(path):
        wrong = f"store {path} belongs to {owner}, who could not open what another user writes there"
        raise OperatorError(f"{wrong}; {as_user(owner, *command)}", ExitCode.STORE)
    return path


@contextmanager
def _opened(site: SiteConfig, path: Path, *, busy: str) -> Iterator[ChunkStore]:
    """The store, opened to be looked at: nothing is set aside (`keep`), since it may be another release's, and warm."""
    with _translated(busy):
        store = open_store(site.store.mode, site.store.size, path, site.store.cache, keep=True)
    try:
        _warn(store.alarms)
        yield store
    finally:
        store.close()


def _warn(alarms: Iterable[str]) -> None:
    for alarm in alarms:
        say(f"warning: {alarm}", err=True)


@contextmanager
def _translated(busy: str = "; stop that process first") -> Iterator[None]:
    """`busy`: what to tell whoever finds the store in use; another path, as for a site that starts, would not help."""
    try:
        yield
    except StoreBusy as error:
        raise OperatorError(f"{error.found}{busy}", ExitCode.STORE) from error
    except StoreError as error:
        raise OperatorError(str(error), ExitCode.STORE) from error


def _progress() -> Progress:
    """On stderr, and only if that is a terminal."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), "containers", TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
