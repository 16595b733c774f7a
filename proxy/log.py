"""What is written to stderr: text for people on a terminal, one JSON object a line for everything else.

`configure` sets up the root logger, once, at the command line; all other code just uses `logging`. Nothing that a
peer or an array sends can move a cursor or forge a line (`proxy.text.printable`), and the volume is bounded: in
`PERIOD` seconds, one place in the code may write `BURST` records, and all places together `BURST_OF_ALL`. What is held
back is counted, and the number is logged. Places are counted, not messages, since one place may write a different
message each time (asyncio's have a task's number). Logging never waits for whoever reads the log (`proxy.log_writer`).
"""

import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Any, TextIO

from proxy.log_writer import LineWriter
from proxy.text import printable

BURST = 20
"""Records of one place that are let through in a period."""
BURST_OF_ALL = 1000
"""Records that are let through in a period, and places that are told apart."""
PERIOD = 10.0
"""Seconds."""

_UNREAD = "%d lines were not logged: nobody read the log"
_COLOURS = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure(level: str = "info", form: str = "auto", stream: TextIO | None = None) -> None:
    """Send all logging from `level` on to the stream (by default stderr); `form`: text, json, or auto, which is text
    on a terminal."""
    stream = sys.stderr if stream is None else stream
    terminal = stream.isatty()
    as_text = form == "text" or (form == "auto" and terminal)
    coloured = terminal and "NO_COLOR" not in os.environ
    handler = BoundedHandler(stream)
    handler.setFormatter(TextFormatter(coloured=coloured) if as_text else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line says them
    logging.captureWarnings(capture=True)


def flush() -> None:
    """Wait until all that was logged is written, but no more than two seconds: perhaps nobody reads it."""
    for handler in logging.getLogger().handlers:
        handler.flush()


class TextFormatter(logging.Formatter):
    """Time, level, message, extra fields; a traceback is indented, so that none of its lines looks like a record."""

    def __init__(self, *, coloured: bool) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """One line, and one more for each line of a traceback."""
        when = datetime.fromtimestamp(record.created).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        extra = "".join(f" {printable(key)}={printable(str(value))}" for key, value in _extra(record).items())
        level = f"{record.levelname.lower():<8}"
        if self._coloured:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        lines = [f"{when} {level}{_message(record)}{extra}", *(f"    | {line}" for line in _traceback(self, record))]
        return "\n".join(lines)


class JsonFormatter(logging.Formatter):
    """One JSON object: time (UTC), level, logger, message, extra fields, traceback as a list of lines."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {printable(key): _plain(value) for key, value in _extra(record).items()}
        entry |= {"time": when, "level": record.levelname.lower(), "logger": record.name, "message": _message(record)}
        if traceback := _traceback(self, record):
            entry["traceback"] = traceback
        return json.dumps(entry)


class Limit:
    """Lets a bounded number of records through a period; the clock is an argument (seconds, monotonic)."""

    def __init__(self) -> None:
        self._since = 0.0
        self._admitted = 0
        self._seen: Counter[Hashable] = Counter()
        self._held_back: Counter[Hashable] = Counter()
        self._templates: dict[Hashable, str] = {}

    def admit(self, place: Hashable, template: str) -> bool:
        """Whether a record of that place, with that message, may be written now."""
        if place not in self._seen and len(self._seen) >= BURST_OF_ALL:
            place, template = None, "(of many kinds)"
        self._seen[place] += 1
        if self._seen[place] <= BURST and self._admitted < BURST_OF_ALL:
            self._admitted += 1
            return True
        self._held_back[place] += 1
        self._templates.setdefault(place, template)
        return False

    def settle(self, now: float) -> list[tuple[str, int]]:
        """Begin a new period if it is time, and return what the last one held back: a message of each place, and how
        many records."""
        if now - self._since < PERIOD:
            return []
        held_back = [(self._templates[place], number) for place, number in self._held_back.items()]
        self._since, self._admitted = now, 0
        for kept in (self._seen, self._held_back, self._templates):
            kept.clear()
        return held_back


class BoundedHandler(logging.Handler):
    """Gives the writer the records that the limit lets through, and says how many were held back, or not written
    because nobody read the log."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._limit = Limit()
        self._lines = LineWriter(stream)
        self._unread = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record if the limit admits it. Any thread (`handle` holds the handler's lock). Never waits."""
        try:
            self._tell(time.monotonic())
            place = (record.name, record.pathname, record.lineno)
            if self._limit.admit(place, str(record.msg).partition("\n")[0]):
                self._write(record)
        except Exception:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing: a record that cannot be formatted is no reason to stop carrying data, nor to write elsewhere."""

    def flush(self) -> None:
        """Wait until all is written, two seconds at most."""
        self._lines.flush()

    def close(self) -> None:
        """Log how many records were held back since that was last logged, and wait as `flush` does."""
        self._tell(float("inf"))
        self._lines.close()
        super().close()

    def _tell(self, now: float) -> None:
        for template, number in self._limit.settle(now):
            self._write(_warning("%d more like this were not logged: %s", number, template))

    def _write(self, record: logging.LogRecord) -> None:
        if self._unread and self._lines.put(self.format(_warning(_UNREAD, self._unread))):
            self._unread = 0
        if not self._lines.put(self.format(record)):
            self._unread += 1


def _warning(template: str, *values: object) -> logging.LogRecord:
    told = {"msg": template, "args": values, "levelname": "WARNING", "levelno": logging.WARNING, "name": __name__}
    return logging.makeLogRecord(told)


def _message(record: logging.LogRecord) -> str:
    try:
        return printable(record.getMessage())
    except (TypeError, ValueError):
        return printable(f"{record.msg} {record.args}")


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | bool | None) else printable(str(value))


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    text = formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""
    return [printable(line) for line in text.splitlines()]
