"""The history file: what is written comes back, out of range goes, damage is set aside, 30 days stay below 50 MB."""

import asyncio
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from proxy.history.file import LARGEST_FILE, HistoryFault, HistoryFile, Kept, open_history
from proxy.history.keeper import Batch, Keeper
from proxy.observe.answers import Event, Severity
from proxy.observe.journal import EVENTS_MAX, WORDS_MAX
from proxy.observe.ranges import RANGES
from proxy.observe.steps import COLUMNS, SERIES_MAX, Key, Row, second
from tests.patience import PATIENCE
from tests.unit.observe.snapshots import NOW

EVENT = Event(1, NOW, "IST-101", Severity.INFO, "peer west", "the tunnel is up", "", 1)
Open = Callable[..., tuple[HistoryFile, Kept]]


def row(number: int = 1) -> Row:
    return second({name: float(number * at + 1e9) for at, name in enumerate(COLUMNS)}, 1.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the history is kept."""
    return tmp_path / "history.db"


@pytest.fixture
def opened(path: Path) -> Iterator[Open]:
    """As `open_history` of that path; what a test has left open is closed at its end, or sqlite3 complains from
    Python 3.13 on."""
    with ExitStack() as stack:

        def open_(now: float = NOW) -> tuple[HistoryFile, Kept]:
            file, kept = open_history(path, now)
            stack.callback(file.close)
            return file, kept

        yield open_


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another process has locked is hardly waited for."""
    monkeypatch.setattr("proxy.history.file.BUSY_SECONDS", 0.01)


def step(name: str, ago: int = 0, series: str = "site") -> Key:
    return name, series, int(NOW // RANGES[name].step) - ago


def test_what_is_written_comes_back(path: Path, opened: Open) -> None:
    file, kept = opened()
    assert (kept.steps, kept.events, kept.facts, kept.set_aside) == ([], [], {}, None)
    steps = {step("5m", 2): row(1), step("5m", 1): row(2), step("30d"): row(3)}
    file.write(steps, [EVENT, replace(EVENT, number=2)], {"file": "abc"}, NOW)
    file.write({step("5m", 1): row(4)}, [replace(EVENT, number=2, count=3)], {}, NOW)
    file.close()
    _, kept = opened()
    assert kept.steps == [(step("5m", 2), row(1)), (step("5m", 1), row(4)), (step("30d"), row(3))]
    assert [(event.number, event.count) for event in kept.events] == [(1, 1), (2, 3)]
    assert kept.facts == {"file": "abc"}
    assert path.stat().st_mode & 0o077 == 0


def test_what_is_more_than_a_range_goes(opened: Open) -> None:
    """On both sides of the present, for a clock that was ahead may have left some there."""
    file, _ = opened()
    file.write({step("5m", ago): row() for ago in range(-500, 500)}, [], {}, NOW)
    assert len(file.read(NOW).steps) == 300
    assert len(file.read(NOW + 300).steps) == 300
    assert len(file.read(NOW + 301).steps) == 299


@pytest.mark.parametrize("wrong", [400 * 86400.0, -400 * 86400.0])
def test_a_clock_that_is_wrong_for_a_while_costs_no_history(opened: Open, wrong: float) -> None:
    file, _ = opened()
    file.write({step(name, ago): row() for name in RANGES for ago in range(1, 200)}, [], {}, NOW)
    file.write(
        {("5m", "site", int(NOW + wrong)): row(), ("30d", "site", int((NOW + wrong) // 7200)): row()},
        [],
        {},
        NOW + wrong,
    )
    file.close()
    opened(NOW + wrong)[0].close()
    assert len(opened()[1].steps) == 199 * len(RANGES)


def test_former_series_go(opened: Open) -> None:
    for generation in range(5):
        file, _ = opened()
        names = [f"forward {generation} {number}" for number in range(20)]
        file.write({step("5m", 5 - generation, name): row() for name in names}, [], {}, NOW)
        file.close()
    series = {key[1] for key, _ in opened()[1].steps}
    assert len(series) == SERIES_MAX
    assert set(names) <= series


def test_the_oldest_events_go(opened: Open) -> None:
    file, _ = opened()
    file.write({}, [replace(EVENT, number=number) for number in range(1, EVENTS_MAX + 50)], {}, NOW)
    assert [event.number for event in file.read(NOW).events][::EVENTS_MAX] == [50]


def test_the_events_of_a_busy_subject_go_before_those_of_others(opened: Open) -> None:
    file, _ = opened()
    file.write({}, [replace(EVENT, number=1, subject="peer quiet")], {}, NOW)
    file.write({}, [replace(EVENT, number=number) for number in range(2, EVENTS_MAX + 50)], {}, NOW)
    assert [event.number for event in file.read(NOW).events][:2] == [1, 51]
    assert len(file.read(NOW).events) == EVENTS_MAX
    file.close()


@pytest.mark.parametrize("damage", [bytes(8000), b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_file_is_set_aside(tmp_path: Path, path: Path, opened: Open, damage: bytes) -> None:
    path.write_bytes(damage)
    file, kept = opened()
    assert kept.set_aside == tmp_path / "history.db.damaged"
    assert kept.set_aside.read_bytes() == damage
    file.write({step("5m"): row()}, [EVENT], {}, NOW)
    assert len(file.read(NOW).steps) == 1


def database_of_another(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE dashboard (x)")


@pytest.mark.parametrize(
    "make", [lambda path: path.write_bytes(b"a volume" * 400), lambda path: path.write_text("x"), database_of_another]
)
def test_what_is_not_a_sites_is_left_as_it_is(
    tmp_path: Path, path: Path, opened: Open, make: Callable[[Path], object]
) -> None:
    """A mistyped path must neither write into somebody's database nor move a volume away."""
    make(path)
    before = path.read_bytes()
    with pytest.raises(HistoryFault, match=f"{path} holds something else than the history of a site"):
        opened()
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("history.db", before)]


def test_a_pipe_is_not_waited_for(path: Path, opened: Open) -> None:
    os.mkfifo(path)
    with pytest.raises(HistoryFault, match="it is a pipe, not a file"):
        opened()


def test_a_page_that_was_overwritten_is_found(path: Path, opened: Open) -> None:
    file, _ = opened()
    file.write({step("5m", ago): row(ago) for ago in range(300)}, [EVENT], {}, NOW)
    file.close()
    content = bytearray(path.read_bytes())
    content[8192:20480] = bytes(12288)
    path.write_bytes(content)
    _, kept = opened()
    assert kept.set_aside is not None


def test_another_releases_layout_is_set_aside(path: Path, opened: Open) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE event (x)")
    connection.close()
    kept = opened()[1]
    assert kept.set_aside is not None
    assert kept.reason == "its layout is 99, that of another release"


def test_what_was_set_aside_before_is_not_overwritten(tmp_path: Path, path: Path, opened: Open) -> None:
    """Who upgrades and goes back has one set aside each time: the first has what was kept until the upgrade."""
    places = []
    for number in range(5):
        path.write_bytes(b"SQLite format 3\0" + b"%d" % number * 4000)
        os.utime(path, (number, number))
        file, kept = opened()
        file.close()
        places.append(kept.set_aside)
    names = ["history.db.damaged", "history.db.damaged-2", "history.db.damaged-3"]
    assert places == [tmp_path / name for name in (*names, *names[:2])]
    assert [(tmp_path / name).read_bytes()[16:17] for name in names] == [b"3", b"4", b"2"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE step SET row = 'text'",
        "UPDATE step SET row = 5",
        "UPDATE step SET row = x'00'",
        "UPDATE step SET series = x'00'",
        "UPDATE event SET severity = 'other'",
        "UPDATE event SET count = 'many'",
        "UPDATE event SET words = x'00'",
        "UPDATE event SET time = 'now'",
        "UPDATE fact SET value = x'00'",
        "ALTER TABLE step RENAME COLUMN row TO line",
        "ALTER TABLE step ADD COLUMN more",
        "ALTER TABLE fact DROP COLUMN value",
        "DROP TABLE event; CREATE TABLE event (number)",
        "DROP TABLE fact; CREATE VIEW fact AS SELECT 1 AS name",
    ],
)
def test_what_this_release_cannot_read_or_write_is_set_aside(
    tmp_path: Path, path: Path, opened: Open, statement: str
) -> None:
    """SQLite takes any value in any column; a file that stayed in its place would never be used again."""
    file, _ = opened()
    file.write({step("5m"): row()}, [EVENT], {"file": "abc"}, NOW)
    file.close()
    with sqlite3.connect(path) as connection:
        connection.executescript(statement)
    connection.close()
    file, kept = opened()
    assert (kept.set_aside, kept.steps, kept.events) == (tmp_path / "history.db.damaged", [], [])
    file.write({step("5m"): row()}, [EVENT], {"file": "abc"}, NOW)
    assert len(file.read(NOW).steps) == 1


@pytest.mark.usefixtures("impatient")
def test_a_file_that_is_in_use_is_not_set_aside(path: Path, opened: Open) -> None:
    file, _ = opened()
    file.write({step("5m"): row()}, [EVENT], {}, NOW)
    file.close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(HistoryFault, match="locked"):
            opened()
    file, kept = opened()
    assert (kept.set_aside, len(kept.steps)) == (None, 1)
    file.close()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(HistoryFault, match="unable to open"):
        open_history(tmp_path / "missing" / "history.db", NOW)
    with pytest.raises(HistoryFault):
        open_history(tmp_path, NOW)


def test_thirty_days_stay_below_50_mb(tmp_path: Path, opened: Open) -> None:
    """All ranges of as many series as are kept, and all events with words as long as may be; written twice over."""
    file, _ = opened()
    names = ["site", *(f"forward {'x' * 50}{number}" for number in range(SERIES_MAX - 1))]
    words = "x" * WORDS_MAX
    for later in (0.0, 40 * 86400.0):
        now = NOW + later
        for name, wanted in RANGES.items():
            last = int(now // wanted.step)
            steps = [(last - ago, row(ago)) for ago in range(wanted.steps)]  # the same of each series
            rows = {(name, series, number): each for series in names for number, each in steps}
            file.write(rows, [], {}, now)
        first = 1 + EVENTS_MAX * bool(later)
        events = [Event(first + at, now, "IST-101", Severity.INFO, words, words, words, 1) for at in range(EVENTS_MAX)]
        file.write({}, events, {}, now)
    file.close()
    size = sum(each.stat().st_size for each in tmp_path.iterdir())
    assert 4 << 20 < size < LARGEST_FILE < 50_000_000
    _, kept = opened(now)
    assert len(kept.steps) == SERIES_MAX * sum(each.steps for each in RANGES.values())


def test_a_full_file_is_no_end(path: Path) -> None:
    """The bound of pages holds whatever is written; the keeper says so and goes on."""
    keeper = Keeper(path)
    keeper.open(NOW, "east").result(PATIENCE)
    names = [f"{'y' * 60_000}{number}" for number in range(1200)]
    keeper.write(Batch({("5m", name, int(NOW)): row() for name in names}, [], {}, NOW))
    assert keeper.close(PATIENCE)
    assert "full" in keeper.problem
    assert path.stat().st_size <= LARGEST_FILE


@pytest.mark.usefixtures("impatient")
def test_what_could_not_be_written_is_written_later(path: Path, opened: Open) -> None:
    """Together with what came next, of which the newest state counts."""
    keeper = Keeper(path)
    keeper.open(NOW, "east").result(PATIENCE)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        keeper.write(Batch({step("5m", 1): row(1), step("5m", 2): row(2)}, [EVENT], {"file": "abc"}, NOW))
        assert keeper.rest(PATIENCE)
        assert "locked" in keeper.problem
    keeper.write(Batch({step("5m", 1): row(3)}, [replace(EVENT, count=2), replace(EVENT, number=2)], {}, NOW))
    assert keeper.close(PATIENCE)
    assert keeper.problem == ""
    kept = opened()[1]
    assert kept.steps == [(step("5m", 2), row(2)), (step("5m", 1), row(3))]
    assert [(event.number, event.count) for event in kept.events] == [(1, 2), (2, 1)]
    assert kept.facts == {"file": "abc", "site": "east"}


def test_what_waits_for_the_disk_is_bounded() -> None:
    """No more than the book and the journal hold, however long the disk takes nothing."""
    owed = Batch({}, [])
    for batch in range(0, 3000, 10):
        numbers = range(batch, batch + 10)
        steps = {("5m", series, number): row() for series in ("site", "peer west") for number in numbers}
        owed = Batch(steps, [replace(EVENT, number=number) for number in numbers]).over(owed)
    assert Counter(series for _, series, _ in owed.steps) == {"site": 300, "peer west": 300}
    assert {number for _, _, number in owed.steps} == set(range(2700, 3000))
    assert [event.number for event in owed.events] == list(range(1000, 3000))


def test_what_waits_for_the_disk_is_what_the_journal_keeps() -> None:
    """A peer that comes and goes each second while the disk is full costs no other one's events."""
    owed = Batch({}, [replace(EVENT, subject="store"), replace(EVENT, number=2, subject="peer north")])
    for first in range(3, 3003, 10):
        owed = Batch({}, [replace(EVENT, number=number) for number in range(first, first + 10)]).over(owed)
    assert [event.number for event in owed.events] == [1, 2, *range(3005 - EVENTS_MAX, 3003)]


def test_events_before_a_gap_are_kept(opened: Open) -> None:
    file, _ = opened()
    file.write({}, [replace(EVENT, number=number) for number in (1, 2, 7, 8)], {}, NOW)
    assert [event.number for event in file.read(NOW).events] == [1, 2, 7, 8]


def test_the_keeper_writes_behind(path: Path, opened: Open) -> None:
    keeper = Keeper(path)
    assert not keeper.idle
    assert keeper.open(NOW, "east").result(PATIENCE).steps == []
    assert keeper.rest(PATIENCE)
    keeper.write(Batch({step("5m"): row()}, [EVENT], {"a": "b"}, NOW))
    assert keeper.close(PATIENCE)
    kept = opened()[1]
    assert (len(kept.steps), kept.events, kept.facts) == (1, [EVENT], {"a": "b", "site": "east"})


@pytest.mark.parametrize("fault", [None, HistoryFault("broken"), ArithmeticError("broken")])
def test_nobody_waits_any_more_for_a_disk_that_answers_at_last(
    fault: Exception | None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread ends, without a traceback and with the file closed."""
    asked, answers, lost = threading.Event(), threading.Event(), list[object]()
    closed = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lost.append)

    class File:
        def claim(self, site: str) -> str:
            return site

        def close(self) -> None:
            closed.set()

    def slow(path: Path, now: float) -> tuple[File, Kept]:
        asked.set()
        answers.wait(PATIENCE)
        if fault is not None:
            raise fault
        return File(), Kept()

    monkeypatch.setattr("proxy.history.keeper.open_history", slow)
    keeper = Keeper(path)

    async def start() -> None:
        opening = asyncio.wrap_future(keeper.open(NOW, "east"))
        await asyncio.to_thread(asked.wait, PATIENCE)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(opening, 0.01)
        answers.set()

    asyncio.run(start())
    assert keeper.close(PATIENCE)
    assert not lost
    assert closed.is_set() == (fault is None)


def test_a_keeper_that_cannot_open_says_why(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path / "missing" / "history.db")
    with pytest.raises(HistoryFault):
        keeper.open(NOW, "east").result(PATIENCE)
    assert keeper.close(PATIENCE)


def test_a_keeper_that_was_never_opened_ends(path: Path) -> None:
    keeper = Keeper(path)
    assert keeper.rest(PATIENCE)
    assert keeper.close(PATIENCE)
