"""Which processes serve a site, as /proc shows them: also where the site itself does not answer."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path


def serving(config: Path) -> Iterator[Path]:
    """Directories in /proc of processes that were started with `serve` and that file, as far as this user sees them.

    Any user may name what he likes for it, such as a link that leads to itself.
    """
    wanted = os.path.realpath(config)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "serve" in words and os.path.realpath(process / "cwd" / words[words.index("serve") + 1]) == wanted:
                yield process
        except (OSError, IndexError):
            continue


def is_of(process: Path, users: Collection[int]) -> bool:
    """Whether that directory in /proc is a process of one of these users (numbers), and of nobody else in part.

    Anybody may call a process as a site's is called; one that changes its user still has, as its real one, who began
    it. Raises OSError.
    """
    for line in (process / "status").read_text(errors="replace").splitlines():
        if line.startswith("Uid:"):
            return set(map(int, line.split()[1:])) <= set(users)
    return False
