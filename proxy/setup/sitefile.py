"""A new site's file: each value with the words of `proxy.config` above it."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from itertools import chain, count
from pathlib import Path

from proxy.config.loading import parse
from proxy.config.mistakes import ConfigError, Mistake
from proxy.config.model import Export, Forward, Identity, Peer, Section, Site, Status, Store, Tunnel
from proxy.setup.container import STATE
from proxy.setup.wishes import Way, Wishes

WIDTH = 110
"""Characters a line of a comment."""
STORE_DIRECTORY = f"{STATE}/store"

Values = Mapping[str, str | list[str] | None]

_HEAD = """\
Site {site}, as written by `isthmus init`. It may be changed by hand: `isthmus check` says whether it is right. All \
other keys, and what they are when they are left out: CONFIGURATION.md. Paths are relative to this file."""


def render(wishes: Wishes) -> str:
    """The content of the file. Whatever was wished stands in it, right or wrong."""
    parts = [_comment(_HEAD.format(site=json.dumps(wishes.site))) + "\n"]
    parts += [table(head, model, values) for head, model, values in _tables(wishes)]
    return "\n".join(parts)


def mistakes(wishes: Wishes, source: Path) -> tuple[Mistake, ...]:
    """All that is wrong with the file that `render` makes; none of the files that it names is looked at.

    The peer's name is reported once, not with each forward and export that repeats it.
    """
    try:
        parse(render(wishes).encode(), source, files=False)
    except ConfigError as error:
        return tuple(mistake for mistake in error.mistakes if not _repeats(mistake))
    return ()


def _repeats(mistake: Mistake) -> bool:
    return mistake.where[:1] in (("forward",), ("export",)) and mistake.where[2] in ("peer", "peers")


def table(head: str, model: type[Section], values: Values) -> str:
    """A table with what it is for, and each of its values with what it means; those that are None are left out."""
    lines = [_comment(model.__doc__ or ""), head]
    entries = [entry(model, key, value) for key, value in values.items() if value is not None]
    return "\n".join([*lines, *entries]) + "\n"


def entry(model: type[Section], key: str, value: str | list[str]) -> str:
    """A value with what it means above it."""
    return f"{_comment(model.model_fields[key].description or '')}\n{key} = {json.dumps(value)}"


def _tables(wishes: Wishes) -> Iterator[tuple[str, type[Section], Values]]:
    yield "[site]", Site, {"name": wishes.site}
    yield "[identity]", Identity, {"certificate": f"{wishes.site}.crt", "key": f"{wishes.site}.key"}
    if wishes.listen is not None:
        yield "[tunnel]", Tunnel, {"listen": wishes.listen}
    path = STORE_DIRECTORY if wishes.store_path is None and wishes.store == "disk" else wishes.store_path
    yield "[store]", Store, {"mode": wishes.store, "size": wishes.store_size, "path": path}
    token = f"{wishes.site}.token"
    yield "[status]", Status, {"listen": wishes.status, "history": wishes.history, "control_token": token}
    yield "[[peer]]", Peer, _peer(wishes)
    for name, forward in zip(_names(wishes.forwards), wishes.forwards, strict=True):
        yield "[[forward]]", Forward, _forward(name, forward, wishes.peer)
    for export in wishes.exports:
        yield "[[export]]", Export, {"name": export.export, "address": export.address, "peers": [wishes.peer]}


def _peer(wishes: Wishes) -> Values:
    return {
        "name": wishes.peer,
        "address": wishes.peer_address,
        "certificate": f"{wishes.peer}.crt",
        "rate": wishes.rate,
    }


def _names(forwards: tuple[Way, ...]) -> list[str]:
    """As their exports; the second of one export is "array-2", and so on. In names case does not count."""
    names: list[str] = []
    for forward in forwards:
        taken = {name.lower() for name in names}
        numbered = (f"{forward.export}-{number}" for number in count(2))
        names.append(next(name for name in chain([forward.export], numbered) if name.lower() not in taken))
    return names


def _forward(name: str, forward: Way, peer: str) -> Values:
    return {"name": name, "listen": forward.address, "peer": peer, "export": forward.export}


def _comment(words: str) -> str:
    return "\n".join(f"# {line}" for line in textwrap.wrap(words, WIDTH - 2, break_on_hyphens=False))
