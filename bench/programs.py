"""What benches that are programs have in common: what they say, what may go wrong, and the file of their figures."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from bench.load import LoadFailure
from bench.sites import SiteFailure
from bench.wan import WanFailure

FAILURES: tuple[type[Exception], ...] = (SiteFailure, LoadFailure, WanFailure, OSError, subprocess.SubprocessError)
"""What may go wrong with any pair, line, and their ends."""


def tell(line: str) -> None:
    """How far it is."""
    print(line, file=sys.stderr, flush=True)


def whole(text: str) -> int:
    """A number, from an option. Raises argparse.ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number; write 1 or more')
    return int(text)


def write(figures: object, file: Path) -> bool:
    """The figures as data; False, and a complaint, if that cannot be."""
    try:
        file.write_text(json.dumps(figures, indent=2) + "\n")
    except OSError as error:
        print(f"the figures cannot be written to {file}: {error.strerror}", file=sys.stderr)
        return False
    return True
