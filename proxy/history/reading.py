"""Reads the history file of a site that does not run, to say what happened last. Changes nothing."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from proxy.files import require
from proxy.history.file import newest_events, owner_of
from proxy.observe.answers import Event


def read_events(path: Path, site: str, limit: int) -> list[Event]:
    """The newest `limit` events of that site, oldest first. Raises OSError if there is no file, sqlite3.Error or
    ValueError if it cannot be read, or is another site's."""
    with _reading(path) as connection:
        if (owner := owner_of(connection)) not in ("", site):
            raise ValueError(f"{path} is that of site {owner}")
        return newest_events(connection, limit)


def read_owner(path: Path) -> str:
    """The site that the file is of; empty if that is not known, or not to this user."""
    with suppress(OSError, sqlite3.Error), _reading(path) as connection:
        return owner_of(connection)
    return ""


def _reading(path: Path) -> closing[sqlite3.Connection]:
    require(path)
    return closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True))
