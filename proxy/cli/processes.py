"""Which processes serve a site, as /proc shows them: also where the site itself does not answer."""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

_ROOT = 0


def serving(config: Path) -> Iterator[Path]:
    """Directories in /proc of processes that were started with `serve` and that file, as far as this user sees them.

    Their command lines are not to be trusted: any user may start a process with such words, or with a path that is a
    link to itself.
    """
    wanted = os.path.realpath(config)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "serve" in words and os.path.realpath(process / "cwd" / words[words.index("serve") + 1]) == wanted:
                yield process
        except (OSError, IndexError):
            continue


def believed(config: Path, key: Path | None) -> Iterator[Path]:
    """Those of them that belong to the owners of the configuration and of the site's key, to root, or to this user: any
    other user's may have the same command line, and whatever else it likes. `key`: if it is known."""
    users = {_ROOT, os.geteuid(), *_owners(config, key)}
    return (process for process in serving(config) if _is_of(process, users))


def _owners(*paths: Path | None) -> Iterator[int]:
    for path in paths:
        with suppress(OSError):
            if path is not None:
                yield path.stat().st_uid


def _is_of(process: Path, users: Collection[int]) -> bool:
    """True if the process with that directory in /proc belongs to these users (numbers) alone.

    All its user IDs count: one that has changed its user still has the user who started it as its real one.
    """
    with suppress(OSError):  # it has ended meanwhile
        for line in (process / "status").read_text(errors="replace").splitlines():
            if line.startswith("Uid:"):
                return set(map(int, line.split()[1:])) <= set(users)
    return False
