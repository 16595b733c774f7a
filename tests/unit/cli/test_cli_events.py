"""`isthmus events`, `drain` and `reload` against a site that answers well, oddly, with refusals, or not at all."""

import itertools
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proxy.cli.api import Api
from proxy.cli.events import asked_of_it_alone, batches, since_when
from proxy.config.loading import load
from proxy.errors import ExitCode, OperatorError
from proxy.observe.journal import EVENTS_MAX
from tests.unit.cli.conftest import OUTLINE, Isthmus, StatusSite
from tests.unit.cli.histories import keep

EVENT = {"number": 7, "time": 1e9, "code": "IST-102", "severity": "error", "subject": "peer west", "count": 3}
EVENT |= {"words": "the last lane is lost", "remedy": "see its log"}
ANSWER = {"first": 1, "last": 7, "events": [EVENT]}


def test_a_line_and_the_remedy(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers(ANSWER)
    shown = isthmus("events", pair / "east.toml")
    assert shown.exit_code == 0
    first, second = shown.stdout.splitlines()
    assert first.endswith("error   IST-102  peer west: the last lane is lost (3 times)")
    assert second.strip() == "→ see its log"
    assert east.paths == [OUTLINE, "/api/v1/events?after=0&limit=50"]


def test_json_lines(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers(ANSWER)
    shown = isthmus("events", pair / "east.toml", "--json")
    assert [json.loads(line) for line in shown.stdout.splitlines()] == [EVENT]


def test_of_a_site_of_an_earlier_version(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    """It refuses to give more than 1,000 at once."""
    east.answers(ANSWER)
    east.most = 1000
    shown = isthmus("events", pair / "east.toml", "--json", "--since", "2000-01-01")
    assert [json.loads(line) for line in shown.stdout.splitlines()] == [EVENT]


def test_hostile_words_do_nothing(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    hostile = "[bold]\x1b[2J\n"
    east.answers({"last": 1, "events": [dict.fromkeys(EVENT, hostile), {}, 7]})
    lines = isthmus("events", pair / "east.toml").stdout.splitlines()
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 1e9 - 7200), ("500ms", 1e9 - 0.5), ("2026-11-21T22:30:00+00:00", 1795300200.0)]
)
def test_since(text: str, seconds: float) -> None:
    assert since_when(text, 1e9) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "2", "22:30", "2026-13-01"])
def test_since_what(isthmus: Isthmus, pair: Path, text: str) -> None:
    shown = isthmus("events", pair / "east.toml", f"--since={text}")
    assert shown.exit_code == ExitCode.USAGE
    assert "is no time; write how long ago" in shown.stderr


class Site:
    """Answers to what is asked for by and by; words: why it does not."""

    def __init__(self, *answers: dict[str, Any] | str) -> None:
        self.asked: list[str] = []
        self.told: list[str] = []
        self._answers = iter(answers)

    def ask(self, what: str) -> dict[str, Any]:
        self.asked.append(what)
        answer = next(self._answers)
        if isinstance(answer, str):
            raise OperatorError(answer, ExitCode.UNREACHABLE)
        return answer

    def batches(self, begin: float | None = None) -> Iterator[list[dict[str, Any]]]:
        return batches(self.ask, begin, follow=True, tell=self.told.append, pause=lambda seconds: None)


def test_what_comes_is_asked_for_by_number() -> None:
    site = Site(ANSWER, {"last": 7, "events": []}, {"last": 8, "events": [EVENT]})
    assert [len(batch) for batch in itertools.islice(site.batches(), 3)] == [1, 0, 1]
    assert site.asked[1:] == [f"events?after=7&limit={EVENTS_MAX}"] * 2


def test_only_what_is_young_enough() -> None:
    site = Site({"last": 2, "events": [EVENT | {"time": 5.0}, EVENT | {"time": 6.0}]})
    assert next(site.batches(6.0)) == [EVENT | {"time": 6.0}]
    assert site.asked == [f"events?after=0&limit={EVENTS_MAX}"]


def test_a_site_that_goes_is_waited_for_and_one_that_forgot_asked_anew() -> None:
    site = Site(ANSWER, "no status", "no status", {"last": 2, "events": []}, {"last": 2, "events": [EVENT]})
    assert [len(batch) for batch in itertools.islice(site.batches(), 2)] == [1, 1]
    assert site.told == ["no status"]
    assert site.asked[-1] == f"events?after=0&limit={EVENTS_MAX}"


def test_a_number_that_no_event_has_is_not_asked_for_again_and_again() -> None:
    site = Site(*[{"last": -1, "events": []}] * 3)
    assert [len(batch) for batch in itertools.islice(site.batches(), 3)] == [0, 0, 0]
    assert site.asked[1:] == [f"events?after=0&limit={EVENTS_MAX}"] * 2


def test_a_site_that_is_not_there(isthmus: Isthmus, pair: Path) -> None:
    for command in ("events", "drain", "reload"):
        shown = isthmus(command, pair / "east.toml")
        assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")


def test_of_a_site_that_is_not_there_from_its_file(isthmus: Isthmus, pair: Path) -> None:
    keep(pair / "east-history.db", *(f"time {number}" for number in range(60)))
    shown = isthmus("events", pair / "east.toml")
    assert shown.exit_code == ExitCode.UNREACHABLE
    lines = [line for line in shown.stdout.splitlines() if "→" not in line]
    assert [line.partition("site: ")[2] for line in lines] == [f"time {number}" for number in range(10, 60)]
    assert "no status of site east" in shown.stderr
    assert shown.stderr.endswith(f"(the events above are what it kept in {pair / 'east-history.db'})\n")


def test_the_young_ones_of_its_file(isthmus: Isthmus, pair: Path) -> None:
    keep(pair / "east-history.db", *(f"time {number}" for number in range(60)))
    shown = isthmus("events", pair / "east.toml", "--json", "--since", "1970-01-01T00:00:02+00:00")
    assert [json.loads(line)["time"] for line in shown.stdout.splitlines()] == [float(n) for n in range(2, 60)]


def test_a_pipe_in_the_place_of_its_file_is_not_waited_for(isthmus: Isthmus, pair: Path) -> None:
    os.mkfifo(pair / "east-history.db")
    shown = isthmus("events", pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    assert "no status of site east" in shown.stderr


def test_a_file_that_is_none_is_not_shown(isthmus: Isthmus, pair: Path) -> None:
    (pair / "east-history.db").write_text("no history")
    shown = isthmus("events", pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    words = "holds something else than the history of a site, and is left as it is: see status.history"
    assert shown.stderr.endswith(f"({pair / 'east-history.db'} {words})\n")


def test_a_file_that_is_damaged_is_spoken_of(isthmus: Isthmus, pair: Path) -> None:
    keep(pair / "east-history.db", "time 1")
    with closing(sqlite3.connect(pair / "east-history.db")) as connection, connection:
        connection.execute("DROP TABLE event")
    shown = isthmus("events", pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    assert f"(what it kept in {pair / 'east-history.db'} cannot be read: no such table: event)" in shown.stderr


def test_a_file_of_another_site_is_not_shown(isthmus: Isthmus, pair: Path) -> None:
    """As where both name the same one: it is kept by one of them alone."""
    keep(pair / "east-history.db", "of the other one", site="west")
    shown = isthmus("events", pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    assert shown.stderr.endswith(f"({pair / 'east-history.db'} is that of site west: see status.history)\n")


def test_another_sites_events_are_not_shown(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers(ANSWER | {"site": "west"})
    shown = isthmus("events", pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    assert "the site that answers there is 'west', not 'east'; see status.listen in both files" in shown.stderr


def test_another_site_after_an_outage_is_no_answer(pair: Path, east: StatusSite) -> None:
    east.answers(ANSWER)
    told: list[str] = []
    course = iter([({}, 503), ({"site": "west"}, 200), ({"site": "east"}, 200)])

    def pause(seconds: float) -> None:
        more, status = next(course)
        east.answers(ANSWER | more, status)

    with Api(load(pair / "east.toml", files=False)) as api:
        found = batches(asked_of_it_alone(api), None, follow=True, tell=told.append, pause=pause)
        assert [len(batch) for batch in itertools.islice(found, 2)] == [1, 1]
    outage, other = told
    assert "HTTP 503" in outage
    assert other.endswith("the site that answers there is 'west', not 'east'; see status.listen in both files")


def test_each_reason_to_wait_is_told_once() -> None:
    site = Site(ANSWER, "refused", "refused", "another site", ANSWER)
    assert len(list(itertools.islice(site.batches(), 2))) == 2
    assert site.told == ["refused", "another site"]


def test_a_refusal_is_told_in_the_sites_words(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers({"error": "too many requests", "remedy": "ask\x1b[2J less often"}, 429)
    shown = isthmus("events", pair / "east.toml")
    assert shown.exit_code == ExitCode.FAILED
    assert shown.stderr == ("isthmus: site east refuses /api/v1/status: too many requests; ask\\x1b[2J less often\n")


def test_an_earlier_version(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers(b"404: Not Found", 404)
    shown = isthmus("events", pair / "east.toml")
    assert shown.exit_code == ExitCode.UNREACHABLE
    assert "a site of an earlier version" in shown.stderr
