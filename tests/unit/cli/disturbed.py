"""A command that a signal meets while it writes a file, in a process that was forked for it (`tests/forking.py`)."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from proxy import cli
from proxy.cli import support_bundle


def disturbed(words: list[str], number: int, made: bool, place: Path, said: Path) -> None:
    """`isthmus` with these words in that place; the signal comes when a file is made, or when it is filled."""
    signal.signal(number, signal.SIG_DFL)  # as in a shell, however the suite was started
    os.chdir(place)
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)

    def disturb(*arguments: Any) -> None:
        signal.raise_signal(number)

    def make(path: str, flags: int, *mode: int, real: Any = os.open) -> int:
        descriptor: int = real(path, flags, *mode)
        if flags & os.O_EXCL:
            disturb()
        return descriptor

    if made:
        os.open = make  # type: ignore[assignment]
    else:
        os.fsync = support_bundle.collect = disturb  # type: ignore[assignment]
    sys.argv = ["isthmus", *words]
    cli.main()
