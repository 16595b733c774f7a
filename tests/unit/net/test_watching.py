"""Once a second: whoever is told of it is told, whatever becomes of the others; and whether history is written down."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proxy.history.file import HistoryFile, open_history
from proxy.history.keeper import Keeper
from proxy.net import watching as module
from proxy.net.watching import Watching
from proxy.observe import codes, steps
from proxy.observe.journal import EVENTS_MAX
from proxy.observe.ranges import RANGES
from proxy.observe.snapshot import Snapshot
from tests.patience import PATIENCE
from tests.unit.observe.snapshots import changed


class Surveyed:
    """What a site looks like; the first look is at the start."""

    def __init__(self) -> None:
        self.broken = False

    def look(self, site: Any) -> Snapshot:
        if self.broken:
            raise ArithmeticError("survey")
        return changed()


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> Surveyed:
    surveyed = Surveyed()
    monkeypatch.setattr(module, "outline", surveyed.look)
    return surveyed


def test_a_defect_of_one_is_none_of_the_others(
    surveyed: Surveyed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The gate's sweep above all, which ends those who only hold a place."""
    watching, told = Watching(named("east", tmp_path), None), list[str]()

    def fail() -> None:
        raise ArithmeticError("live")

    watching.ticked.extend((fail, lambda: told.append("sweep")))
    watching.tick()
    assert told == ["sweep"]
    surveyed.broken = True
    watching.tick()
    assert told == ["sweep"] * 2
    said = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert said == ["live", "survey", "live"]


def codes_of(watching: Watching) -> list[str]:
    return [event.code for event in watching.journal.after(0, 100).events]


def named(name: str, directory: Path, shrunk: str = "") -> Any:
    """A site, whose store was made smaller in these words."""
    config = SimpleNamespace(site=SimpleNamespace(name=name), source=directory / f"{name}.toml")
    return SimpleNamespace(config=config, worker=SimpleNamespace(store=SimpleNamespace(shrunk=shrunk)))


def run_watching(path: Path, act: Callable[[Watching, Keeper], None], name: str = "east", shrunk: str = "") -> None:
    """A start of the site of that name, what `act` does, and the end."""
    site = named(name, path.parent, shrunk)

    async def live() -> None:
        keeper = Keeper(path)
        watching = Watching(site, keeper)
        await watching.start()
        act(watching, keeper)
        await watching.stop()

    asyncio.run(live())


def test_a_disk_that_takes_no_history_is_told_once(
    surveyed: Surveyed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log, too, and in health while it lasts. And what was kept from it meanwhile is there after a restart."""
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr("proxy.history.file.BUSY_SECONDS", 0.01)
    path, told, levels = tmp_path / "history.db", list[str](), list[str]()

    def act(watching: Watching, keeper: Keeper) -> None:
        def tick() -> str:
            assert keeper.rest(PATIENCE)
            watching.tick()
            assert keeper.rest(PATIENCE)
            levels.append(watching.watch.health.level)
            return watching.watch.history.kept

        assert tick() == "disk"
        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert [tick() for _ in range(3)] == ["disk", "memory", "memory"]
        assert [tick() for _ in range(2)] == ["memory", "disk"]
        assert codes_of(watching).count("IST-404") == 1
        assert levels == ["healthy", "healthy", "attention", "attention", "attention", "healthy"]
        assert "locked" in watching.journal.after(0, 100).events[-1].words

    run_watching(path, act)
    (line,) = (message for message in caplog.messages if "IST-404" in message)
    assert str(path) in line
    run_watching(path, lambda watching, keeper: told.extend(codes_of(watching)))
    assert told == ["IST-401", "IST-101", "IST-404", "IST-401"]


def test_the_file_of_another_site_is_left_alone(surveyed: Surveyed, tmp_path: Path) -> None:
    """Each would overwrite the other's events, by number, and take the other's last start for its own."""
    path, told = tmp_path / "history.db", list[str]()

    def other(watching: Watching, keeper: Keeper) -> None:
        watching.tick()
        assert watching.watch.history.kept == "memory"
        told.extend(event.words for event in watching.journal.after(0, 100).events if event.code == "IST-404")

    run_watching(path, lambda watching, keeper: None)
    run_watching(path, other, "west")
    (words,) = told
    assert f"{path} is that of site east; name a file of its own as status.history" in words
    again = list[str]()
    run_watching(path, lambda watching, keeper: again.extend(codes_of(watching)))
    assert again.count("IST-401") == 2
    assert "IST-404" not in again


def test_of_two_sites_that_begin_at_once_one_has_the_file(surveyed: Surveyed, tmp_path: Path) -> None:
    """As with a host that starts: neither had written whose it is before the other one had looked."""

    async def live() -> list[str]:
        both = [Watching(named(name, tmp_path), Keeper(tmp_path / "history.db")) for name in ("east", "west")]
        await asyncio.gather(*(watching.start() for watching in both))
        for watching in both:
            await watching.stop()
        return [watching.watch.history.kept for watching in both]

    assert sorted(asyncio.run(live())) == ["disk", "memory"]


@pytest.mark.parametrize("behind", [3600.0, 400 * 86400.0])
def test_a_clock_that_is_behind_at_the_start_costs_no_history(
    surveyed: Surveyed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: float
) -> None:
    """Until a time server was heard: it was not shown before the next start, and the step that went on was lost."""
    now, path = 1_800_000_000.0, tmp_path / "history.db"
    last = {name: int(now // each.step) for name, each in RANGES.items()}
    file, _ = open_history(path, now)
    file.write(
        {(name, "site", last[name] - ago): steps.second({}, 9.0) for name in RANGES for ago in (0, 1)}, [], {}, now
    )
    file.close()
    clock = SimpleNamespace(now=now - behind, passed=0.0)
    clock.time, clock.monotonic = lambda: clock.now, lambda: clock.passed
    monkeypatch.setattr(module, "time", clock)

    def start(watching: Watching, keeper: Keeper) -> None:
        for clock.passed, clock.now in ((1.0, now - behind + 1), (2.0, now)):
            watching.tick()
        for name in RANGES:
            *_, (_, former), (_, open_) = watching.watch.history.book.steps("site", name, now)
            assert former is not None
            assert open_ is not None
            assert steps.at(former, "seconds") >= 9.0, "it may have been the time that the clock said at first"
            assert steps.at(open_, "seconds") == 10.0

    run_watching(path, start)
    file, kept = open_history(path, now)
    file.close()
    written = dict(kept.steps)
    assert [steps.at(written[name, "site", last[name]], "seconds") for name in RANGES] == [10.0] * len(RANGES)


def test_of_a_file_that_cannot_be_opened_it_is_told_that_it_takes_a_restart(surveyed: Surveyed, tmp_path: Path) -> None:
    """Room on its disk, which the remedy asks for, changes nothing before."""
    words = list[str]()
    path = tmp_path / "none" / "history.db"

    def act(watching: Watching, keeper: Keeper) -> None:
        watching.tick()
        words.extend(reason.words for reason in watching.watch.health.reasons)

    run_watching(path, act)
    assert words[-1].endswith(f"{path}: unable to open database file; it is tried again when the site starts anew")


def hanging(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """While that is clear, the history's disk answers no write."""
    answers = threading.Event()
    answers.set()
    write = HistoryFile.write

    def hang(*arguments: Any) -> None:
        answers.wait(PATIENCE)
        write(*arguments)

    monkeypatch.setattr(HistoryFile, "write", hang)
    return answers


def test_a_disk_that_does_not_answer_is_told_once(
    surveyed: Surveyed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It neither takes a batch nor refuses it; when it has taken it, history is on it again."""
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(module, "LATE_SECONDS", 0.0)
    answers = hanging(monkeypatch)

    def act(watching: Watching, keeper: Keeper) -> None:
        def tick() -> str:
            watching.tick()
            return watching.watch.history.kept

        assert keeper.rest(PATIENCE)
        answers.clear()
        assert [tick() for _ in range(3)] == ["disk", "memory", "memory"]
        answers.set()
        assert keeper.rest(PATIENCE)
        assert tick() == "disk"
        assert keeper.rest(PATIENCE)
        assert codes_of(watching).count("IST-404") == 1
        assert "does not answer" in watching.journal.after(0, 100).events[-1].words

    run_watching(tmp_path / "history.db", act)
    assert sum("IST-404" in message for message in caplog.messages) == 1


def test_what_a_disk_that_does_not_answer_is_owed_is_bounded(
    surveyed: Surveyed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be so for weeks; and what the journal keeps is written when it answers again."""
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.0)
    path, answers, told = tmp_path / "history.db", hanging(monkeypatch), list[int]()

    def act(watching: Watching, keeper: Keeper) -> None:
        assert keeper.rest(PATIENCE)
        answers.clear()
        watching.tick()
        for at in range(3 * EVENTS_MAX):
            watching.journal.note(codes.TUNNEL_DOWN, "peer west", str(at), float(at))
            assert len(watching._events) <= 2 * EVENTS_MAX
        told.extend(event.number for event in watching.journal.after(0, EVENTS_MAX).events)
        answers.set()
        assert keeper.rest(PATIENCE)

    run_watching(path, act)
    with closing(sqlite3.connect(path)) as other:
        assert [number for (number,) in other.execute("SELECT number FROM event ORDER BY number")] == told


def test_a_history_that_cannot_be_opened_or_was_damaged_is_a_line_of_the_log(
    surveyed: Surveyed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "history.db"
    path.mkdir()
    run_watching(path, lambda watching, keeper: watching.tick())
    path.rmdir()
    path.write_bytes(b"SQLite format 3\0" + b"noise" * 5000)
    run_watching(path, lambda watching, keeper: None)
    assert [message.partition(",")[0] for message in caplog.messages] == ["IST-404", "IST-405"]
    assert all(str(path) in message for message in caplog.messages)
    assert "(file is not a database)" in caplog.messages[1]


def test_a_disk_that_takes_a_while_is_none_that_does_not_answer(
    surveyed: Surveyed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens to the time of day meanwhile."""
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(Keeper, "idle", False)

    def act(watching: Watching, keeper: Keeper) -> None:
        for now in (1e9, 2e9, 0.0):
            monkeypatch.setattr("time.time", lambda now=now: now)
            watching.tick()
            assert watching.watch.history.kept == "disk"

    run_watching(tmp_path / "history.db", act)


def test_what_the_log_has_from_elsewhere_is_no_second_line(
    surveyed: Surveyed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def act(watching: Watching, keeper: Keeper) -> None:
        for _ in range(2):
            watching.journal.note(codes.TUNNEL_DOWN, "peer west", "gone", 1.0)
            watching.journal.note(codes.STORE_ALARM, "store", "The disk is full.", 1.0)

    run_watching(tmp_path / "history.db", act)
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said == [("ERROR", "IST-301, store: The disk is full; make sure that its disk works and has room")]


def test_what_the_log_would_not_have_otherwise_is_a_line(
    surveyed: Surveyed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What slows replication was told by events alone, and so was who had no token; who reads the log saw neither."""
    of_lines = codes.LOSSY, codes.REFERENCES_SUSPENDED, codes.SHORT_PACKETS, codes.OTHER_CONGESTION_CONTROL
    of_sites = codes.CONFIGURATION_CHANGED, codes.ACCESS_DENIED, codes.BUSY, codes.NOT_REDUCED, codes.SHAPED
    told = *of_lines, *of_sites, codes.WINDOW_LIMITS, codes.STORE_SMALL, codes.TURNS, codes.STORE_BEHIND

    def act(watching: Watching, keeper: Keeper) -> None:
        for code in told:
            watching.journal.note(code, f"about {code}", "words", 1.0)

    caplog.set_level("INFO")
    run_watching(tmp_path / "history.db", act)
    assert [message.partition(":")[0] for message in caplog.messages] == [f"{code}, about {code}" for code in told]


def test_a_store_that_was_made_smaller_is_told_once(
    surveyed: Surveyed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A digit too few in the file cost nine tenths of a store without a word."""
    path, told = tmp_path / "history.db", list[str]()

    def act(watching: Watching, keeper: Keeper) -> None:
        watching.tick()
        told[:] = [event.words for event in watching.journal.after(0, 100).events if event.code == "IST-306"]

    for shrunk in ("9 of its 20 containers were dropped", ""):
        run_watching(path, act, shrunk=shrunk)
        assert told == ["9 of its 20 containers were dropped"]
    (line,) = [message for message in caplog.messages if "IST-306" in message]
    assert line.startswith("IST-306, 9 of its 20 containers were dropped; nothing to do if that was meant")


def test_a_run_that_was_killed_is_told_at_the_next_start(
    surveyed: Surveyed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A container whose memory ran out came back again and again, and neither its log nor its events said a word."""
    path, killed, told = tmp_path / "history.db", tmp_path / "killed.db", list[str]()

    def act(watching: Watching, keeper: Keeper) -> None:
        assert keeper.rest(PATIENCE)  # not even a second has passed
        with closing(sqlite3.connect(path)) as here, closing(sqlite3.connect(killed)) as there:
            here.backup(there)  # what a kill would leave now

    def tell(watching: Watching, keeper: Keeper) -> None:
        told.extend(codes_of(watching))

    run_watching(path, act)
    run_watching(path, tell)
    assert told == ["IST-401", "IST-401"]
    told.clear()
    run_watching(killed, tell)
    assert told == ["IST-401", "IST-410"]
    (line,) = (message for message in caplog.messages if "IST-410" in message)
    assert "did not end in order" in line
    told.clear()
    run_watching(killed, tell)
    assert told.count("IST-410") == 1  # that run has ended
