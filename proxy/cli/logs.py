"""Where a site's log may be found: the file that its process writes to, or systemd's journal."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

from proxy.cli.processes import believed

LARGEST = 8 << 20
"""Bytes that are taken from the end of a log, at most."""
_JOURNAL_LINES = 20_000
_JOURNAL_SECONDS = 30.0
_STDERR = 2


def of_process(config: Path, key: Path | None) -> tuple[str, bytes] | None:
    """The name and the end of the file that a running `isthmus serve CONFIG` writes its log to; None if there is none.

    `key`: the site's, if it is known. Only processes that are believed to be the site's count: any other user's may
    have as its stderr any file of this host, such as one that only root can read, who may be running this.
    """
    for process in believed(config, key):
        try:
            descriptor = process / "fd" / str(_STDERR)
            if stat.S_ISREG(descriptor.stat().st_mode):
                return os.readlink(descriptor), _end(descriptor)
        except OSError:
            continue
    return None


def of_journal(file: str) -> bytes | None:
    """What systemd's journal has of the unit `isthmus@FILE`, which runs /etc/isthmus/FILE.toml whatever the site's own
    name is; None if there is no journal, or nothing in it."""
    journalctl = shutil.which("journalctl")
    if journalctl is None:
        return None
    command = [journalctl, "--unit", f"isthmus@{file}.service", "--no-pager", "--quiet", "--output", "short-iso"]
    try:
        done = subprocess.run(
            [*command, "--lines", str(_JOURNAL_LINES)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_JOURNAL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout[-LARGEST:] or None


def _end(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LARGEST))
        return file.read(LARGEST)
