"""Keeps the results of a run: a JSON file for each cell and repeat, complete or not there at all.

Its path is DIR/SUITE/CELL.N.json, with underscores for the slashes of the cell's name. A file says under which
circumstances it was made; results with other circumstances are never mixed with new ones.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import TypeAdapter, ValidationError

from bench.replay.trial import Outcome

FORMAT = 1
State = Literal["done", "failed", "lacking"]
REPORTED = "isthmus", "python", "kernel", "processor", "cores", "load_before", "time"
"""Facts about the machine that every report shows."""


class RecordFailure(Exception):
    """Results cannot be read or written; the message names the file and the remedy."""


@dataclass(frozen=True)
class Record:
    """A cell, measured once."""

    suite: str
    cell: str
    repeat: int
    """From 1."""
    scale: float
    settings: dict[str, Any]
    """The trial's settings."""
    machine: dict[str, Any]
    """Facts and versions, as of `bench.machine.all_facts`."""
    state: State
    seconds: float
    """How long the trial had taken when the cell was finished."""
    outcome: Outcome = field(default_factory=lambda: Outcome(()))
    reason: str = ""
    """Why it failed, or cannot be measured."""

    @property
    def finished(self) -> bool:
        """Whether it was measured to its end and what arrived is what was sent: then it need not be measured again."""
        return self.state == "done" and not self.outcome.complaint

    def differs(self, other: Self) -> str:
        """The first circumstance in which this record differs from the other, or nothing."""
        if self.scale != other.scale:
            return f"scale {self.scale:g}, not {other.scale:g}"
        mine, theirs = (json.loads(json.dumps(each.settings)) for each in (self, other))
        for name in sorted(mine.keys() | theirs.keys()):
            if mine.get(name) != theirs.get(name):
                return f"{name} {mine.get(name)!r}, not {theirs.get(name)!r}"
        version, wanted = (each.machine.get("isthmus") for each in (self, other))
        return f"Isthmus {version}, not {wanted}" if version != wanted else ""


_RECORD = TypeAdapter(Record)


class Records:
    """The results that are kept in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, suite: str, cell: str, repeat: int) -> Path:
        """Where a cell's result is kept."""
        return self.directory / suite / f"{cell.replace('/', '_')}.{repeat}.json"

    def prepare(self) -> None:
        """See that something can be written there. Raises RecordFailure."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            probe = self.directory / f".probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise RecordFailure(
                f"results cannot be kept in {self.directory}: {error.strerror}; name another with --out"
            ) from None

    def keep(self, record: Record) -> None:
        """Write a result, whole or not at all. Raises RecordFailure."""
        path = self.path(record.suite, record.cell, record.repeat)
        beside = path.with_suffix(f".{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("w") as file:
                json.dump({"format": FORMAT, **asdict(record)}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise RecordFailure(f"{path} cannot be written: {error.strerror}") from None
        finally:
            with contextlib.suppress(OSError):  # mostly renamed by now; left only after an error or an interrupt
                beside.unlink()

    def set_aside(self, suite: str, cell: str, repeat: int) -> None:
        """Rename a cell's result, if there is one, to CELL.N.json.old: it counts no more. Raises RecordFailure."""
        path = self.path(suite, cell, repeat)
        try:
            if path.exists():
                path.replace(path.with_suffix(".json.old"))
        except OSError as error:
            raise RecordFailure(f"{path} cannot be set aside: {error.strerror}") from None

    def all(self, suite: str = "*") -> Iterator[Record]:
        """All results, of all suites or of that one, by suite and name. Raises RecordFailure."""
        try:
            paths = sorted(self.directory.glob(f"{suite}/*.json"))
        except OSError as error:
            raise RecordFailure(f"{self.directory} cannot be read: {error.strerror}") from None
        yield from map(read, paths)


def read(path: Path) -> Record:
    """The result in a file. Raises RecordFailure."""
    try:
        data = json.loads(path.read_text())
        if data.pop("format") != FORMAT:
            raise ValueError("its format is another")
        record = _RECORD.validate_python(data)
        if lacking := [fact for fact in REPORTED if fact not in record.machine]:
            raise KeyError("machine", *lacking)
    except OSError as error:
        raise RecordFailure(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RecordFailure(f"{path} is no result of this bench ({place}: {first['msg']}); move it away") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordFailure(f"{path} is no result of this bench ({error}); move it away") from None
    return record
