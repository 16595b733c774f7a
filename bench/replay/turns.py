"""An array's replicator: qemu-img's initiator moves volumes from the near array to the far one, as many at once as
allowed; the others wait for their turns, in order."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.array import ArrayFailure
from bench.ending import bound
from bench.replay.arrays import Arrays

POLL_SECONDS = 0.01
COMMANDS = 8
"""Commands under way for each volume."""
PATIENCE_SECONDS = 24 * 3600.0
"""Seconds in which all volumes have to move, which takes hours at the real sizes."""


@dataclass(frozen=True)
class Moved:
    """A volume that has moved."""

    unit: int
    waited: float
    """Seconds until it was its turn."""
    took: float
    """Seconds from then on."""


@dataclass
class Course:
    """What was seen of a replication."""

    moved: list[Moved] = field(default_factory=list)
    in_progress: list[list[float]] = field(default_factory=list)
    """Pairs of seconds since the start and the number of volumes; so is `waiting`."""
    waiting: list[list[float]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Seconds until the last volume was done."""
        return max((each.waited + each.took for each in self.moved), default=0.0)


def move(arrays: Arrays, count: int, most: int, directory: Path, tell: Callable[[str], None]) -> Course:
    """Move units 1 to `count`, `most` at once. Raises ArrayFailure if one fails, and ends the others."""
    course, waiting = Course(), list(range(1, count + 1))
    running: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
    began = time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(arrays.inside())
        while waiting or running:
            while waiting and len(running) < most:
                unit = waiting.pop(0)
                process = stack.enter_context(_started(arrays, unit, directory / f"unit{unit}.log"))
                running[unit] = process, time.monotonic() - began
            _note(course, time.monotonic() - began, len(running), len(waiting), tell)
            for unit in _ended(running, directory, began + PATIENCE_SECONDS):
                turn = running.pop(unit)[1]
                course.moved.append(Moved(unit, turn, time.monotonic() - began - turn))
    _note(course, course.seconds, 0, 0, tell)
    return course


def _ended(running: dict[int, tuple["subprocess.Popen[bytes]", float]], directory: Path, deadline: float) -> list[int]:
    """Wait until at least one unit is done; all that are. Raises ArrayFailure if one has failed, or at the deadline."""
    while True:
        ended = {unit: code for unit, (process, _) in running.items() if (code := process.poll()) is not None}
        for unit, code in ended.items():
            if code:
                log = (directory / f"unit{unit}.log").read_text(errors="replace").strip()
                raise ArrayFailure(f"qemu-img ended with status {code} for volume {unit}: {log}")
        if ended:
            return [*ended]
        if time.monotonic() > deadline:
            raise ArrayFailure(f"the volumes have not moved within {PATIENCE_SECONDS / 3600:.0f} hours")
        time.sleep(POLL_SECONDS)


@contextlib.contextmanager
def _started(arrays: Arrays, unit: int, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    options = ["-n", "-W", "-m", str(COMMANDS), "-S", "0", "-f", "raw", "-O", "raw"]
    command = ["qemu-img", "convert", *options, arrays.near.url(unit), arrays.far_url(unit)]
    with log.open("wb") as output:
        process = subprocess.Popen(bound(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _note(course: Course, at: float, running: int, waiting: int, tell: Callable[[str], None]) -> None:
    course.in_progress.append([round(at, 3), running])
    course.waiting.append([round(at, 3), waiting])
    tell(f"{running} in progress, {waiting} waiting, {len(course.moved)} done")
