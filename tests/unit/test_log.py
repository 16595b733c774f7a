"""Logs: a form for people and one for programs, harmless whatever is logged, bounded however often."""

import io
import json
import logging
import os
import select
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from proxy import log
from proxy.log import BURST, BURST_OF_ALL, PERIOD, Limit
from proxy.log_writer import WAITING_MAX, LineWriter
from tests.patience import PATIENCE, until

HOSTILE = "x\x1b[2J\n2026-01-01 00:00:00.000 info forged\u202e"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def text_of(stream: io.StringIO) -> str:
    log.flush()
    return stream.getvalue()


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(stream).splitlines()]


def test_json_has_one_object_a_line_with_extra_fields() -> None:
    stream = io.StringIO()
    log.configure(stream=stream)
    logging.getLogger("proxy.net").warning("lane %d with %s", 3, "west", extra={"peer": "west", "lane": 3})
    (entry,) = written(stream)
    assert entry.pop("time").endswith("+00:00")
    assert entry == {
        "level": "warning",
        "logger": "proxy.net",
        "message": "lane 3 with west",
        "peer": "west",
        "lane": 3,
    }


@pytest.mark.parametrize(("level", "expected"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_is_the_least_that_is_written(level: str, expected: int) -> None:
    stream = io.StringIO()
    log.configure(level, stream=stream)
    logger = logging.getLogger("proxy.test")
    for number in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        logger.log(number, "at %d", number)
    assert len(written(stream)) == expected


def test_a_terminal_gets_coloured_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    log.configure(stream=stream)
    logging.getLogger().error("broken", extra={"peer": "west"})
    assert text_of(stream).endswith("\x1b[31merror   \x1b[0mbroken peer=west\n")


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for stream in (Terminal(), io.StringIO()):
        log.configure(form="text", stream=stream)
        logging.getLogger().error("broken")
        assert text_of(stream).endswith(" error   broken\n")


def test_json_on_a_terminal_if_asked_for() -> None:
    stream = Terminal()
    log.configure(form="json", stream=stream)
    logging.getLogger().info("ready")
    assert written(stream)[0]["message"] == "ready"


@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_values_stay_on_their_line(form: str) -> None:
    stream = io.StringIO()
    log.configure(form=form, stream=stream)
    logging.getLogger().info("refused %s", HOSTILE, extra={"origin": HOSTILE, HOSTILE: 1})
    (line,) = text_of(stream).splitlines()
    text = json.dumps(json.loads(line), ensure_ascii=False) if form == "json" else line
    assert text.isprintable()
    assert "forged" in text


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_cannot_be_taken_for_records(form: str) -> None:
    stream = io.StringIO()
    log.configure(form=form, stream=stream)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger().exception("failed")
    lines = text_of(stream).splitlines()
    if form == "json":
        assert json.loads(lines.pop())["traceback"][0] == "Traceback (most recent call last):"
    assert all(line.startswith("    | ") for line in lines[1:])
    assert all(line.isprintable() for line in lines)


def test_wrong_arguments_are_logged_as_they_are() -> None:
    stream = io.StringIO()
    log.configure(stream=stream)
    logging.getLogger().info("%d streams", "no")
    assert written(stream)[0]["message"] == "%d streams ('no',)"


def test_what_has_no_words_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    stream = io.StringIO()
    log.configure(stream=stream)
    logging.getLogger().info("from %s", Mute())
    logging.getLogger().info("from %s", "west")
    assert [entry["message"] for entry in written(stream)] == ["from west"]
    assert capsys.readouterr().err == ""


def test_warnings_are_logged() -> None:
    stream = io.StringIO()
    log.configure(stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        log.configure(stream=stream)
        warnings.warn("old", stacklevel=1)
    assert "UserWarning: old" in written(stream)[0]["message"]


def test_the_same_message_is_written_a_bounded_number_of_times_and_the_rest_counted() -> None:
    stream = io.StringIO()
    log.configure(stream=stream)
    for number in range(500):
        logging.getLogger().info("lane %d is gone", number)
    logging.getLogger().info("another")
    assert [entry["message"] for entry in written(stream)] == [
        *(f"lane {number} is gone" for number in range(BURST)),
        "another",
    ]
    log.configure(stream=io.StringIO())  # closes the first handler
    assert written(stream)[-1]["message"] == f"{500 - BURST} more like this were not logged: lane %d is gone"


def test_a_pipe_that_nobody_reads_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    log.configure(stream=Gone())
    logging.getLogger().info("unheard")
    log.flush()
    assert capsys.readouterr().err == ""


def test_nothing_waits_for_whoever_reads_the_log() -> None:
    """Lines wait, as many as may; what comes then is counted, and told once somebody reads again."""
    held, reading = threading.Event(), threading.Event()

    class Held(io.StringIO):
        def write(self, text: str) -> int:
            held.set()
            assert reading.wait(PATIENCE)
            return super().write(text)

    stream = Held()
    handler = log.BoundedHandler(stream)
    for number in range(1 + WAITING_MAX + 100):
        handler.handle(logging.makeLogRecord({"msg": f"at {number}", "lineno": number}))
        assert held.wait(PATIENCE)
    reading.set()
    handler.flush()
    handler.handle(logging.makeLogRecord({"msg": "again"}))
    handler.close()
    assert stream.getvalue().splitlines() == [
        *(f"at {number}" for number in range(1 + WAITING_MAX)),
        "100 lines were not logged: nobody read the log",
        "again",
    ]


def test_no_line_is_lost_where_writes_do_not_wait() -> None:
    """As on a terminal of which somebody else who has it has said so: lines without room vanished, and none told."""
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    lines = [f"{number} {'x' * 1000}\n" for number in range(WAITING_MAX)]
    heard: list[str] = []
    reader = threading.Thread(target=read_lines, args=(source, heard), daemon=True)
    with open(sink, "w") as stream:
        writer = LineWriter(stream)
        assert all(writer.put(line.rstrip()) for line in lines)
        until(lambda: not select.select([], [stream], [], 0)[1], "the pipe is not full")
        reader.start()
        until(lambda: heard == lines, "lines are missing")
        writer.close()
    reader.join()


def read_lines(source: int, heard: list[str]) -> None:
    with open(source) as stream:
        heard.extend(stream)


def test_stderr_is_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure(form="text", stream=sys.stderr)
    logging.getLogger().info("here")
    log.flush()
    assert "here" in capsys.readouterr().err


def test_a_message_that_differs_each_time_is_bounded_like_any_other() -> None:
    """As asyncio's do, with traceback and all; and others are not held back for it."""
    stream = io.StringIO()
    log.configure(stream=stream)
    for number in range(5000):
        logging.getLogger("asyncio").error(f"Task exception was never retrieved\nfuture: <Task-{number}>")
    logging.getLogger("proxy").warning("a real one")
    said = [entry["message"] for entry in written(stream)]
    assert len(said) == BURST + 1
    assert said[-1] == "a real one"
    log.configure(stream=io.StringIO())  # closes the first handler
    told = f"{5000 - BURST} more like this were not logged: Task exception was never retrieved"
    assert written(stream)[-1]["message"] == told


class TestLimit:
    def test_a_place_has_its_burst_in_each_period(self) -> None:
        limit = Limit()
        assert limit.settle(100.0) == []
        assert [limit.admit(1, f"at {number}") for number in range(BURST + 2)] == [True] * BURST + [False] * 2
        assert limit.admit(2, "at 0")
        assert limit.settle(100.0 + PERIOD - 0.1) == []
        assert not limit.admit(1, "at last")
        assert limit.settle(100.0 + PERIOD) == [(f"at {BURST}", 3)]
        assert limit.admit(1, "again")
        assert limit.settle(100.0 + 2 * PERIOD) == []

    def test_all_places_together_are_bounded(self) -> None:
        limit = Limit()
        admitted = sum(limit.admit(place, "here") for place in range(100_000))
        assert admitted <= BURST_OF_ALL
        held_back = limit.settle(PERIOD)
        assert admitted + sum(number for _, number in held_back) == 100_000
        assert len(held_back) <= BURST_OF_ALL + 1
