"""The questions of `isthmus init` on a terminal. Each answer is checked at once, and asked for again if it is wrong."""

import platform
from collections.abc import Callable
from typing import Any

import click

from proxy.cli.output import say
from proxy.config.addresses import parse_listen, parse_remote
from proxy.config.names import NAME_REMEDY, is_name
from proxy.config.units import SIZE, parse_size


def ask() -> dict[str, Any]:
    """Options as `isthmus init` takes them."""
    say("A few questions; an empty answer takes what stands in brackets, Ctrl-C leaves everything as it is.\n")
    site = _ask("Name of this site", _name, _own_name())
    peer = _ask("Name of the other site", lambda text: _other_name(text, site))
    listen = _ask('Address of this host for the tunnel, such as 198.18.0.1:4500 ("none": it only dials)', _listen)
    reach = _reach(listen)
    dialled = _ask("Where the other site is dialled", _address) if listen is None else None
    forward = _ask('Where arrays here connect to, such as 198.18.0.1:3260 ("none" if they do not)', _listen)
    export = _ask('Array here that the other site may reach, such as 10.1.0.5:3260 ("none")', _address_or_none)
    store = _ask("Store: disk (stays warm) or memory (is empty after a restart)", _mode, "disk")
    size = _ask("Size of the store", _size, "10GiB")
    return {
        "site": site,
        "peer": f"{peer}={dialled}" if dialled else peer,
        "listen": listen,
        "reach": reach,
        "forward": (forward,) if forward else (),
        "export": (export,) if export else (),
        "store": store,
        "store_size": size,
        "store_path": None,
        "rate": None,
        "status": None,
        "history": None,
    }


def _ask(question: str, read: Callable[[str], str | None], default: str | None = None) -> str | None:
    """Until `read` raises no ValueError; its words are shown."""

    def value(text: str) -> str | None:
        try:
            return read(text.strip())
        except ValueError as error:
            raise click.UsageError(f"{text!r} {error}" if text else f"an empty answer {error}") from None

    shown = default is not None
    # Without any default click takes an empty answer for none, and asks again without a word.
    answer: str | None = click.prompt(question, default=default or "", show_default=shown, value_proc=value)
    return answer


def _reach(listen: str | None) -> str | None:
    """Asked for only where `listen` stands for all addresses."""
    wanted = listen is not None and parse_listen(listen).stands_for_all
    return _ask("Address by which the other site reaches that", _address) if wanted else None


def _own_name() -> str | None:
    name = platform.node().partition(".")[0]
    return name if is_name(name) else None


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"is not a name; {NAME_REMEDY}")
    return text


def _other_name(text: str, site: str | None) -> str:
    if text.lower() == (site or "").lower():
        raise ValueError("is the name of this site itself")
    return _name(text)


def _listen(text: str) -> str | None:
    return None if text == "none" else str(parse_listen(text))


def _address(text: str) -> str:
    return str(parse_remote(text))


def _address_or_none(text: str) -> str | None:
    return None if text == "none" else _address(text)


def _mode(text: str) -> str:
    if text not in ("disk", "memory"):
        raise ValueError('is neither "disk" nor "memory"')
    return text


def _size(text: str) -> str:
    try:
        parse_size(text)
    except ValueError as error:
        raise ValueError(f"{error}; {SIZE.remedy}") from None
    return text
