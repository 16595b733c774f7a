"""The history file: steps and events in SQLite, bounded in rows and in pages. Synchronous; one thread uses it."""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proxy.files import NotAFile, read
from proxy.observe.answers import Event, Severity
from proxy.observe.journal import EVENTS_MAX
from proxy.observe.ranges import RANGES
from proxy.observe.steps import COLUMNS, SERIES_MAX, Key, Row, begins

LARGEST_FILE = 40 << 20
"""Bytes. All steps of all series and all events take less than half of it."""
_PAGE = 4096
_LAYOUT = 1
"""Number of the layout, raised when tables or columns change: a file with another one is set aside."""
BUSY_SECONDS = 2.0
_WORDS_MAX = 200
_COPIES = 3
"""Files that were set aside and are kept, at most."""
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
_TABLES_OF_OURS = "step", "event", "fact"
_MAGIC = b"SQLite format 3\0"
"""How every file of SQLite begins."""
_NOT_OURS = "holds something else than the history of a site, and is left as it is"
_BEYOND = """
DELETE FROM step WHERE range = :range AND series = :series AND (
    number <= (SELECT number FROM step WHERE range = :range AND series = :series AND number <= :last
               ORDER BY number DESC LIMIT 1 OFFSET :most)
    OR number >= (SELECT number FROM step WHERE range = :range AND series = :series AND number > :last
                  ORDER BY number LIMIT 1 OFFSET :most)
)
"""
"""Deletes steps that are too many, by rank and not by time: a clock that is wrong for a while costs no history. Of
steps that lie ahead because the clock was wrong, as many are kept."""
_FORMER = """
DELETE FROM step WHERE range = :range AND series NOT IN (
    SELECT series FROM step WHERE range = :range GROUP BY series ORDER BY max(number) DESC LIMIT :most
)
"""
_TOO_MANY = """
DELETE FROM event WHERE number IN (
    SELECT number FROM (
        SELECT number, row_number() OVER (PARTITION BY subject ORDER BY number DESC) AS nth FROM event
    ) ORDER BY nth DESC, number LIMIT max(0, (SELECT count(*) FROM event) - :most)
)
"""
"""As the journal does: of the subject with most events the oldest go."""
_EVENT_COLUMNS = "number, time, code, severity, subject, words, remedy, count"
_EVENT_KINDS = int, float, str, str, str, str, str, int
_OUT_OF_REACH = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
"""Errors of SQLite that say nothing about what the file holds. After any other one the file is set aside: otherwise no
history would be kept ever again."""


class HistoryFault(Exception):
    """The file cannot be used: the message says why."""


@dataclass(slots=True)
class Kept:
    """What an earlier run has left."""

    steps: list[tuple[Key, Row]] = field(default_factory=list)
    """Those of a series in order."""
    ahead: list[tuple[Key, Row]] = field(default_factory=list)
    """Steps whose time has not come yet, in order of time: the clock is behind now, or was ahead then."""
    events: list[Event] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    owner: str = ""
    """The site whose file it is: two sites that wrote into one file would overwrite each other's events."""
    set_aside: Path | None = None
    """Where a file that is damaged, or another release's, was moved, and an empty one begun."""
    reason: str = ""
    """Why it was set aside."""


class HistoryFile:
    """An open file. `open_history` makes it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, now: float) -> Kept:
        """Facts, events, and the steps that are within their range at that time of day, or lie ahead.

        Raises sqlite3.Error, or ValueError for values of other types.
        """
        ask = self._connection.execute
        kept = Kept(facts=dict(_of_kinds(ask("SELECT name, value FROM fact"), (str, str))))
        for name, wanted in RANGES.items():
            last = int(now // wanted.step)
            rows = ask(
                "SELECT series, number, row FROM step WHERE range = ? AND number > ? ORDER BY series, number",
                (name, last - wanted.steps),
            )
            for series, number, blob in _of_kinds(rows, (str, int, bytes)):
                step = (name, series, number), array("d", blob)
                if len(step[1]) == len(COLUMNS):
                    (kept.steps if number <= last else kept.ahead).append(step)
        kept.ahead.sort(key=lambda step: begins(step[0]))
        kept.events = newest_events(self._connection, EVENTS_MAX)
        return kept

    def write(self, steps: Mapping[Key, Row], events: Sequence[Event], facts: Mapping[str, str], now: float) -> None:
        """Write all of it or nothing. If a series then has more steps than its range, its oldest ones are deleted.

        Raises sqlite3.Error.
        """
        with self._connection as transaction:
            transaction.executemany(
                "INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?)", [(*key, row.tobytes()) for key, row in steps.items()]
            )
            transaction.executemany(
                "INSERT OR REPLACE INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(e.number, e.time, e.code, e.severity, e.subject, e.words, e.remedy, e.count) for e in events],
            )
            transaction.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", list(facts.items()))
            for name, series in {key[:2] for key in steps}:
                last, most = int(now // RANGES[name].step), RANGES[name].steps
                transaction.execute(_BEYOND, {"range": name, "series": series, "last": last, "most": most})
            if events:
                transaction.execute(_TOO_MANY, {"most": EVENTS_MAX})

    def claim(self, site: str) -> str:
        """Make it that site's file, unless it is another site's; returns whose it is. Raises sqlite3.Error."""
        with self._connection as transaction:
            transaction.execute("INSERT OR IGNORE INTO fact VALUES ('site', ?)", (site,))
            return owner_of(transaction)

    def close(self) -> None:
        """Nothing more will be written."""
        self._connection.close()


def open_history(path: Path, now: float) -> tuple[HistoryFile, Kept]:
    """Open or make the file, and read it. One that is damaged, or another release's, is set aside.

    Raises HistoryFault. Blocks as the disk does.
    """
    refuse_what_is_no_database(path)
    try:
        return _open(path, now)
    except (sqlite3.Error, ValueError) as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _OUT_OF_REACH or not path.is_file():
            raise HistoryFault(f"{path}: {error}") from None
        reason = str(error)
    try:
        aside = _place_aside(path)
        path.replace(aside)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        file, kept = _open(path, now)
    except (OSError, sqlite3.Error, ValueError) as error:
        raise HistoryFault(f"{path}: {error}") from None
    kept.set_aside, kept.reason = aside, reason
    return file, kept


def refuse_what_is_no_database(path: Path) -> None:
    """Raises HistoryFault: a file of somebody else, which a mistyped path names, is not to be moved away. One of zeros
    may be what a crash has left of ours."""
    try:
        head = read(path, len(_MAGIC))
    except NotAFile as error:
        raise HistoryFault(f"{path}: {error.strerror}") from None
    except OSError:
        return  # sqlite3 says what is wrong
    if head.strip(b"\0") and head != _MAGIC:
        raise HistoryFault(f"{path} {_NOT_OURS}")


def refuse_others(connection: sqlite3.Connection) -> None:
    """Raises HistoryFault if it is the database of something else, before anything is written into it."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and tables.isdisjoint(_TABLES_OF_OURS):
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        raise HistoryFault(f"{path} {_NOT_OURS}")


def _place_aside(path: Path) -> Path:
    """Where to move the file: a name that is free, so that after an upgrade and a downgrade the files of both releases
    are there; if none is free, the oldest copy's.

    Raises OSError.
    """
    names = [f"{path.name}.damaged", *(f"{path.name}.damaged-{number}" for number in range(2, _COPIES + 1))]
    places = [path.with_name(name) for name in names]
    free = next((place for place in places if not place.exists()), None)
    return free or min(places, key=lambda place: place.stat().st_mtime_ns)


def _open(path: Path, now: float) -> tuple[HistoryFile, Kept]:
    with suppress(OSError):  # sqlite3 says below what is wrong
        path.touch(0o600)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        _prepare(connection)
        file = HistoryFile(connection)
        return file, file.read(now)
    except BaseException:
        with suppress(sqlite3.Error):
            connection.close()
        raise


def _prepare(connection: sqlite3.Connection) -> None:
    """Set the connection up: the file is checked, has our layout, and is bounded. Raises sqlite3.Error, or HistoryFault
    if it is not ours."""
    refuse_others(connection)
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
    if _columns(connection) != _wanted_columns():
        raise sqlite3.DatabaseError("its tables have other columns")
    connection.execute(f"PRAGMA user_version = {_LAYOUT}")
    with connection as transaction:  # what forwards and peers of former configurations have left
        transaction.executemany(_FORMER, [{"range": name, "most": SERIES_MAX} for name in RANGES])


def _wanted_columns() -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(_TABLES)
        return _columns(empty)


def _columns(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    ask = "SELECT name, type, [notnull], pk FROM pragma_table_info(?)"
    return [row for table in _TABLES_OF_OURS for row in connection.execute(ask, (table,))]


def owner_of(connection: sqlite3.Connection) -> str:
    """The site whose file it is; empty if that was not written down. Raises sqlite3.Error."""
    found = connection.execute("SELECT value FROM fact WHERE name = 'site'").fetchone()
    return str(found[0]) if found else ""


def newest_events(connection: sqlite3.Connection, limit: int) -> list[Event]:
    """The newest `limit` events, oldest first. Raises sqlite3.Error, or ValueError if a row is no event."""
    rows = connection.execute(f"SELECT {_EVENT_COLUMNS} FROM event ORDER BY number DESC LIMIT ?", (limit,)).fetchall()
    sound = _of_kinds(reversed(rows), _EVENT_KINDS)
    return [Event(number, time, code, Severity(severity), *rest) for number, time, code, severity, *rest in sound]


def _of_kinds(rows: Iterable[tuple[Any, ...]], kinds: tuple[type, ...]) -> Iterator[tuple[Any, ...]]:
    """The rows, whose values are of those types. Raises ValueError otherwise: SQLite takes any value in any column."""
    for row in rows:
        if tuple(map(type, row)) != kinds:
            raise ValueError(f"a row has other values: {row!r}"[:_WORDS_MAX])
        yield row
