"""How a bench ends: nothing that it made stays, and what it started ends at the latest when it is killed."""

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from proxy.cli.ending import ended_in_order
from proxy.errors import ExitCode

BOUND = Path(__file__).with_name("bound.py")


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for temporary files. Interrupts while it is removed, which may be gigabytes, leave nothing."""
    directory = Path(tempfile.mkdtemp(prefix="isthmus-"))
    try:
        yield directory
    finally:
        _remove(directory)


def _remove(directory: Path) -> None:
    """However often it is interrupted; that is told in the end."""
    try:
        shutil.rmtree(directory, ignore_errors=True)
    except KeyboardInterrupt:
        _remove(directory)
        raise


def program(main: Callable[[], int | None]) -> NoReturn:
    """A bench as a program, which its signals end in order: ends the process."""
    try:
        with ended_in_order():
            sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


def bound(command: Sequence[str]) -> list[str]:
    """The command so that the kernel kills it when we end, however we do.

    It counts the thread that starts it, so from any but the main one the command stays as it is.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return [*command]
    return [sys.executable, "-I", "-S", str(BOUND), str(os.getpid()), *command]
