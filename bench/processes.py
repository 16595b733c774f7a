"""How a bench starts processes and waits for what they do. All of them end with it: see `bench.ending.bound`."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench.ending import bound
from bench.sites import environment

PATIENCE_SECONDS = 600.0
Process = subprocess.Popen[str]


def own(module: str, *arguments: str) -> list[str]:
    """The command line of a program of the bench."""
    return [sys.executable, "-m", module, *arguments]


def output_of(command: Sequence[str], failure: type[Exception], name: str = "") -> str:
    """What a command prints, once it has ended. Raises `failure` with the last line of its stderr if it fails.

    `name`: what to call it in a failure, by default the command's first word.
    """
    called = name or command[0]
    try:
        done = subprocess.run(
            bound(command), env=environment(), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise failure(f"{called} did not end within {PATIENCE_SECONDS:.0f} s") from None
    if done.returncode:
        complaint = done.stderr.strip().rpartition("\n")[2]
        raise failure(f"{called} ended with status {done.returncode}: {complaint}")
    return done.stdout


@contextmanager
def talking(command: Sequence[str]) -> Iterator[Process]:
    """A process with pipes to its input and from its output; killed on leaving."""
    with subprocess.Popen(
        bound(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        process_group=0,  # an interrupt from the keyboard is for us alone
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def next_line(process: Process) -> str:
    """The next line that such a process prints; empty if it has ended."""
    assert process.stdout is not None
    return process.stdout.readline()


def until(condition: Callable[[], object], seconds: float, every: float = 0.02) -> bool:
    """Wait for the condition, asking `every` seconds; whether it came true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True
