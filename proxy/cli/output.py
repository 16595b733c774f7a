"""What commands say, on stdout or stderr."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from proxy.text import printable

WORDLESS = 5.0
"""Seconds that a command waits for a site without saying so."""


def say(words: str, *, err: bool = False) -> None:
    """One line or several, none of which moves a cursor: whatever is said may have come from another site."""
    click.echo("\n".join(map(printable, words.split("\n"))), err=err)  # noqa: TID251 (everybody else says it here)


def at_a_terminal() -> bool:
    """Whether somebody sees stderr as it comes."""
    return sys.stderr.isatty()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """While something may take long: after a while, say on stderr what is waited for, if somebody reads that."""
    if not at_a_terminal():
        yield
        return
    words = threading.Timer(WORDLESS, say, (f"waiting for {what} ...",), {"err": True})
    words.daemon = True
    with suppress(RuntimeError):  # no more threads: better to wait without a word than not to ask at all
        words.start()
    try:
        yield
    finally:
        words.cancel()
