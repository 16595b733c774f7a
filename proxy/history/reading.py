"""The events of a history file whose site does not run, for who asks what happened last. Changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

from proxy.observe.answers import Event, Severity

_COLUMNS = "number, time, code, severity, subject, words, remedy, count"


def read_events(path: Path, limit: int) -> list[Event]:
    """The newest so many, oldest first. Raises OSError if there is no file, sqlite3.Error if it cannot be read."""
    path.stat()
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute(f"SELECT {_COLUMNS} FROM event ORDER BY number DESC LIMIT ?", (limit,)).fetchall()
    return [_event(*row) for row in reversed(rows)]


def _event(
    number: int, time: float, code: str, severity: str, subject: str, words: str, remedy: str, count: int
) -> Event:
    return Event(number, time, code, Severity(severity), subject, words, remedy, count)
