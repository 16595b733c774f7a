"""The history file: steps and events in SQLite, bounded in rows and in pages. Synchronous; one thread uses it."""

import sqlite3
from array import array
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from proxy.observe.answers import Event, Severity
from proxy.observe.journal import EVENTS_MAX
from proxy.observe.ranges import RANGES
from proxy.observe.steps import COLUMNS, Key, Row

LARGEST_FILE = 40 << 20
"""Bytes. All steps of all series and all events take less than half of it."""
_PAGE = 4096
_LAYOUT = 1
"""Raised when tables or columns change: a file with another one is begun anew."""
_BUSY_SECONDS = 2.0
_TABLES = """
CREATE TABLE IF NOT EXISTS step (
    range TEXT NOT NULL, series TEXT NOT NULL, number INTEGER NOT NULL, row BLOB NOT NULL,
    PRIMARY KEY (range, series, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY, time REAL NOT NULL, code TEXT NOT NULL, severity TEXT NOT NULL, subject TEXT NOT NULL,
    words TEXT NOT NULL, remedy TEXT NOT NULL, count INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class HistoryFault(Exception):
    """The file cannot be used: the message says why."""


@dataclass(slots=True)
class Kept:
    """What an earlier run has left."""

    steps: list[tuple[Key, Row]] = field(default_factory=list)
    """Those of a series in order."""
    events: list[Event] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    set_aside: Path | None = None
    """Where a damaged file was moved, and an empty one begun."""


class HistoryFile:
    """An open file. `open_history` makes it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, now: float) -> Kept:
        """Everything that is within its range at that time of day. Raises sqlite3.Error."""
        ask = self._connection.execute
        kept = Kept(facts=dict(ask("SELECT name, value FROM fact").fetchall()))
        for name, wanted in RANGES.items():
            last = int(now // wanted.step)
            rows = ask(
                "SELECT series, number, row FROM step"
                " WHERE range = ? AND number > ? AND number <= ? ORDER BY series, number",
                (name, last - wanted.steps, last),
            )
            kept.steps += [((name, series, number), array("d", blob)) for series, number, blob in rows]
        kept.steps = [(key, row) for key, row in kept.steps if len(row) == len(COLUMNS)]
        columns = "number, time, code, severity, subject, words, remedy, count"
        events = ask(f"SELECT {columns} FROM event ORDER BY number DESC LIMIT ?", (EVENTS_MAX,)).fetchall()
        kept.events = _unbroken([_event(*row) for row in reversed(events)])
        return kept

    def write(self, steps: Mapping[Key, Row], events: Iterable[Event], facts: Mapping[str, str], now: float) -> None:
        """All of it or nothing; what is out of its range goes. Raises sqlite3.Error."""
        with self._connection as transaction:
            transaction.executemany(
                "INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?)", [(*key, row.tobytes()) for key, row in steps.items()]
            )
            transaction.executemany(
                "INSERT OR REPLACE INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(e.number, e.time, e.code, e.severity, e.subject, e.words, e.remedy, e.count) for e in events],
            )
            transaction.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", list(facts.items()))
            for name, wanted in RANGES.items():
                oldest = int(now // wanted.step) - wanted.steps
                transaction.execute(
                    "DELETE FROM step WHERE range = ? AND (number <= ? OR number > ?)",
                    (name, oldest, oldest + 2 * wanted.steps),
                )
            transaction.execute("DELETE FROM event WHERE number <= (SELECT max(number) FROM event) - ?", (EVENTS_MAX,))

    def close(self) -> None:
        """Nothing more will be written."""
        self._connection.close()


def open_history(path: Path, now: float) -> tuple[HistoryFile, Kept]:
    """Open or make the file, and read it. A damaged one is set aside. Raises HistoryFault. Blocks as the disk does."""
    try:
        return _open(path, now)
    except (sqlite3.DatabaseError, ValueError) as error:
        if isinstance(error, sqlite3.OperationalError) or not path.is_file():
            raise HistoryFault(f"{path}: {error}") from None
    aside = path.with_name(f"{path.name}.damaged")
    try:
        path.replace(aside)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        file, kept = _open(path, now)
    except (OSError, sqlite3.Error) as error:
        raise HistoryFault(f"{path}: {error}") from None
    kept.set_aside = aside
    return file, kept


def _open(path: Path, now: float) -> tuple[HistoryFile, Kept]:
    with suppress(OSError):  # sqlite3 says below what is wrong
        path.touch(0o600)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        _prepare(connection)
        file = HistoryFile(connection)
        return file, file.read(now)
    except BaseException:
        with suppress(sqlite3.Error):
            connection.close()
        raise


def _prepare(connection: sqlite3.Connection) -> None:
    """Checked, of our layout, and bounded."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # a crash of the host loses seconds, and damages nothing
    connection.execute(f"PRAGMA journal_size_limit = {1 << 20}")
    connection.execute(f"PRAGMA max_page_count = {LARGEST_FILE // _PAGE}")
    with closing(connection.execute("PRAGMA quick_check(1)")) as check:
        found = check.fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    layout = connection.execute("PRAGMA user_version").fetchone()[0]
    if layout not in (0, _LAYOUT):
        raise sqlite3.DatabaseError(f"its layout is {layout}, that of another release")
    connection.executescript(_TABLES)
    connection.execute(f"PRAGMA user_version = {_LAYOUT}")


def _event(
    number: int, time: float, code: str, severity: str, subject: str, words: str, remedy: str, count: int
) -> Event:
    return Event(number, time, code, Severity(severity), subject, words, remedy, count)


def _unbroken(events: list[Event]) -> list[Event]:
    """The newest of them whose numbers rise by one."""
    for at in range(len(events) - 1, 0, -1):
        if events[at].number != events[at - 1].number + 1:
            return events[at:]
    return events
