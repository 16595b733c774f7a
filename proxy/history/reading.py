"""The events of a history file whose site does not run, for who asks what happened last. Changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

from proxy.history.file import newest_events
from proxy.observe.answers import Event


def read_events(path: Path, limit: int) -> list[Event]:
    """The newest so many, oldest first. Raises OSError if there is no file, sqlite3.Error or ValueError if it cannot be
    read."""
    path.stat()
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        return newest_events(connection, limit)
