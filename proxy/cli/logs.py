"""Where a site's log may be found: the file that its process writes to, or systemd's journal."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from proxy.cli.processes import is_of, serving

LARGEST = 8 << 20
"""Bytes that are taken of a log, its end."""
_JOURNAL_LINES = 20_000
_JOURNAL_SECONDS = 30.0
_STDERR = 2
_ROOT = 0


def of_process(config: Path, key: Path | None) -> tuple[str, bytes] | None:
    """The name and the end of the file that a running `isthmus serve` of that site's file writes its log to.

    `key`: of the site, if it is known. Only who owns that, or the file, and root run the site: another user's process
    may be called as it is, and have any file of this host for its stderr, also one that it may not read, as root may.
    """
    users = {_ROOT, os.geteuid(), *_owners(config, key)}
    for process in serving(config):
        try:
            descriptor = process / "fd" / str(_STDERR)
            if is_of(process, users) and stat.S_ISREG(descriptor.stat().st_mode):
                return os.readlink(descriptor), _end(descriptor)
        except OSError:
            continue
    return None


def of_journal(file: str) -> bytes | None:
    """What systemd's journal has of the unit `isthmus@FILE`, which runs /etc/isthmus/FILE.toml, whatever the site is
    called in it; None without a journal or anything in it."""
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


def _owners(*paths: Path | None) -> Iterator[int]:
    for path in paths:
        with suppress(OSError):
            if path is not None:
                yield path.stat().st_uid


def _end(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LARGEST))
        return file.read(LARGEST)
