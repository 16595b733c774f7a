"""The questions of `isthmus init` on a terminal. Each answer is checked at once, as what it makes of the site's file,
and asked for again if it is wrong."""

import platform
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from proxy.cli.output import say
from proxy.config.addresses import parse_listen
from proxy.config.mistakes import ABSENT, KeyPath
from proxy.config.names import is_name
from proxy.setup import sitefile
from proxy.setup.wishes import DEFAULT_EXPORT, Way, Wishes

_DIALLED = "peer", 0, "address"
_CONTAINER = re.compile("[0-9a-f]{12}")
"""What an engine names a container that nobody has named: no site's name, and another one the next time."""


def ask() -> Wishes:
    """What is wished. Raises click.Abort at Ctrl-C and where input ends."""
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # what is no text is a wrong answer like any other
    say("A few questions; an empty answer takes what stands in brackets, Ctrl-C leaves everything as it is.\n")
    wishes = _ask(Wishes(), "Name of this site", ("site", "name"), lambda text: {"site": text}, _own_name())
    wishes = _ask(wishes, "Name of the other site", ("peer", 0, "name"), lambda text: {"peer": text})
    wishes = _ask_ways_between(wishes)
    wishes = _ask(
        wishes,
        'Where arrays here connect to, such as 198.18.0.1:3260 ("none" if they do not)',
        ("forward", 0, "listen"),
        lambda text: {"forwards": _ways(text)},
    )
    wishes = _ask(
        wishes,
        'Array here that the other site may reach, such as 10.1.0.5:3260 ("none")',
        ("export", 0, "address"),
        lambda text: {"exports": _ways(text)},
    )
    modes = "Store: disk (stays warm) or memory (is empty after a restart)"
    wishes = _ask(wishes, modes, ("store", "mode"), lambda text: {"store": text}, wishes.store)
    return _ask(wishes, "Size of the store", ("store", "size"), lambda text: {"store_size": text}, wishes.store_size)


def _ask_ways_between(wishes: Wishes) -> Wishes:
    """Which site dials, and where."""
    wishes = _ask(
        wishes,
        'Address of this host for the tunnel, such as 198.18.0.1:4500 ("none": it only dials)',
        ("tunnel", "listen"),
        lambda text: {"listen": None if text == "none" else text},
    )
    if wishes.listen is None:
        return _ask(wishes, "Where the other site is dialled", _DIALLED, lambda text: {"peer_address": text})
    if not parse_listen(wishes.listen).stands_for_all:
        return wishes
    # It is not in this site's file, but in the other's, as where this one is dialled.
    words = "Address by which the other site reaches that"
    return replace(wishes, reach=_ask(wishes, words, _DIALLED, lambda text: {"peer_address": text}).peer_address)


def _ask(
    wishes: Wishes,
    question: str,
    where: KeyPath,
    read: Callable[[str], dict[str, Any]],
    default: str | None = None,
) -> Wishes:
    """The wishes with what the answer changes in them (`read`), once there is no mistake at that place of the file."""

    def value(text: str) -> Wishes:
        text = text.strip()
        wished = replace(wishes, **read(text))
        for mistake in sitefile.mistakes(wished, Path()):
            if mistake.where == where and mistake.value is not ABSENT:  # others are about what was not asked for yet
                answer = repr(text) if text else "an empty answer"
                raise click.UsageError(f"{answer} {mistake.wrong}; {mistake.remedy}")
        return wished

    shown = default is not None
    # Without any default click takes an empty answer for none, and asks again without a word.
    answer: Wishes = click.prompt(question, default=default or "", show_default=shown, value_proc=value)
    return answer


def _own_name() -> str | None:
    name = platform.node().partition(".")[0]
    return name if is_name(name) and not _CONTAINER.fullmatch(name) else None


def _ways(text: str) -> tuple[Way, ...]:
    return () if text == "none" else (Way(DEFAULT_EXPORT, text),)
