"""A process that seems to serve a site: its command line says so, and nothing else of it does."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def called_as_a_site(directory: Path, file: str) -> Iterator[str]:
    """Its number."""
    command = [sys.executable, "-c", "print(flush=True); input()", "serve", file]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=directory) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield str(process.pid)
        finally:
            process.communicate(b"\n")
