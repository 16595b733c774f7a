"""Which processes serve a site, as /proc shows them: also where the site itself does not answer."""

from collections.abc import Iterator
from pathlib import Path


def serving(config: Path) -> Iterator[Path]:
    """Directories in /proc of processes that were started with `serve` and that file, as far as this user sees them."""
    config = config.resolve()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "serve" in words and (process / "cwd" / words[words.index("serve") + 1]).resolve() == config:
                yield process
        except (OSError, IndexError):
            continue
