"""What benches that are programs have in common: what they say, what may go wrong, and the file of their figures."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench.ending import said, scratch
from bench.load import LoadFailure
from bench.sites import SiteFailure
from bench.wan import WanFailure
from proxy.config.units import SIZE, parse_size
from proxy.errors import ExitCode

MIB = 1 << 20

FAILURES: tuple[type[Exception], ...] = (SiteFailure, LoadFailure, WanFailure, OSError)
"""Errors that any pair, line, or their ends may raise, and that are no defects of a bench."""


def measured(bench: str, measure: Callable[[Path], None], conclude: Callable[[str], bool]) -> ExitCode:
    """Have the bench measure, with a directory for temporary files, and conclude; returns the exit status.

    However measuring ends, `conclude` is called with why it failed, or an empty string. It writes and shows what was
    measured until then, and says whether all is right.
    """
    failure = ""
    try:
        with scratch() as directory:
            measure(directory)
    except FAILURES as error:
        failure = said(error)
    except BaseException as error:  # an interrupt, or a defect
        failure = "interrupted" if isinstance(error, KeyboardInterrupt) else repr(error)
        raise
    finally:
        right = conclude(failure)
        if failure:
            tell(f"{bench} failed: {failure}")
    return ExitCode.OK if right and not failure else ExitCode.FAILED


def tell(line: str) -> None:
    """Say on stderr how far the bench is."""
    print(line, file=sys.stderr, flush=True)


def whole(text: str, least: int = 1) -> int:
    """A number, from an option. Raises argparse.ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number; write {least} or more')
    return int(text)


def size_of(text: str) -> int:
    """Bytes, from an option; not so few that one of many connections would have none. Raises as `whole`."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'"{text}" {error}; {SIZE.remedy}') from None
    if size < MIB:
        raise argparse.ArgumentTypeError(f'"{text}" is too little to be measured; write 1MiB or more')
    return size


def file_to_write(text: str) -> Path:
    """A path, from an option. Raises as `whole` if no file can be there: better now than after an hour of measuring."""
    file = Path(text)
    if file.is_dir() or not file.parent.is_dir():
        wrong = "is a directory; name a file" if file.is_dir() else f"is in no directory; make {file.parent} first"
        raise argparse.ArgumentTypeError(f'"{text}" {wrong}')
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f'"{text}" cannot be written by this user; name another file')
    return file


def told(figures: object, file: Path | None, show: Callable[[Console], None]) -> bool:
    """Write the figures to the file, if there is one, then show them: in this order, since the terminal may be closed.

    Returns whether they could be written.
    """
    written = not file or write(figures, file)
    show(Console())
    return written


def write(figures: object, file: Path) -> bool:
    """Write the figures as JSON; False, and a complaint on stderr, if that cannot be done."""
    try:
        file.write_text(json.dumps(figures, indent=2) + "\n")
    except OSError as error:
        print(f"the figures cannot be written to {file}: {error.strerror}", file=sys.stderr)
        return False
    return True
