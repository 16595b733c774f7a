"""Reads the history file of a site that does not run, to say what happened last. Changes nothing."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from proxy.files import require
from proxy.history.file import HistoryFault, newest_events, owner_of, refuse_others, refuse_what_is_no_database
from proxy.observe.answers import Event


def read_events(path: Path, site: str, limit: int) -> list[Event]:
    """The newest `limit` events of that site, oldest first. Raises OSError if there is no file, sqlite3.Error or
    ValueError if it cannot be read, or is another site's."""
    with _reading(path) as connection:
        if (owner := owner_of(connection)) not in ("", site):
            raise ValueError(f"{path} is that of site {owner}")
        return newest_events(connection, limit)


def why_not_of(path: Path, site: str) -> str:
    """Why that site does not keep its history there, in words: the file is another's. Empty if it is not, or if that is
    not known to this user."""
    try:
        refuse_what_is_no_database(path)
        with _reading(path) as connection:
            refuse_others(connection)
            owner = owner_of(connection)
    except HistoryFault as fault:
        return str(fault)
    except (OSError, sqlite3.Error):
        return ""
    return f"{path} is that of site {owner}" if owner not in ("", site) else ""


def _reading(path: Path) -> closing[sqlite3.Connection]:
    require(path)
    how = "immutable=1" if _is_at_rest(path) else "mode=ro"
    return closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True))


def _is_at_rest(path: Path) -> bool:
    """True if this user can make no file beside it, which SQLite has to unless it is told that nobody writes to the
    file, and nobody does: whoever writes to it, or was killed while doing so, has a log beside it."""
    return not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
