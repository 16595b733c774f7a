"""The events of a history file whose site does not run, for who asks what happened last. Changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

from proxy.history.file import newest_events
from proxy.observe.answers import Event


def read_events(path: Path, site: str, limit: int) -> list[Event]:
    """The newest so many of that site, oldest first. Raises OSError if there is no file, sqlite3.Error or ValueError if
    it cannot be read, or is another site's."""
    path.stat()
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        owner = connection.execute("SELECT value FROM fact WHERE name = 'site'").fetchone()
        if owner not in (None, (site,)):
            raise ValueError(f"{path} is that of site {owner[0]}")
        return newest_events(connection, limit)
