"""Makes file systems from this machine's files: ext4 images of a tree of files, as it is or changed."""

import random
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bench.array import ArrayFailure
from bench.datasets import Dataset
from bench.overiscsi.stage import KIB, MIB
from bench.processes import output_of

SIZE = 64 * MIB
FILLED = SIZE * 4 // 5
EVERY = 20
Change = Callable[[Path], None]
"""Changes a tree of files before its image is made."""


class Kind(NamedTuple):
    """Which files are taken: from which directories, and of which sizes in bytes."""

    name: str
    sources: tuple[str, ...]
    least: int
    most: int


KINDS = (
    Kind("large files", ("/usr/lib", "/usr/bin"), 128 * KIB, 8 * MIB),
    Kind("small files", ("/usr/share", "/usr/include", "/usr/lib"), 1, 128 * KIB),
)


def lacking() -> str:
    """Why no images can be made here; empty if they can."""
    return "" if shutil.which("mke2fs") else "not installed: mke2fs"


def make(kind: Kind, change: Change, path: Path) -> None:
    """Make an image of `SIZE` bytes, with files of that kind after that change. Raises ArrayFailure, OSError."""
    tree = path.with_suffix(".tree")
    _copy(kind, tree / "files")
    change(tree)
    line = ["mke2fs", "-q", "-t", "ext4", "-m", "0", "-d", str(tree), str(path), f"{SIZE // MIB}M"]
    output_of(line, ArrayFailure)
    shutil.rmtree(tree)


def _copy(kind: Kind, to: Path) -> None:
    """Copy as many files as fit, in the order of their names."""
    to.mkdir(parents=True)
    total = 0
    for file in chain.from_iterable(sorted(Path(source).rglob("*")) for source in kind.sources):
        if file.is_symlink() or not file.is_file() or not kind.least <= file.stat().st_size <= kind.most:
            continue
        total += file.stat().st_size + 4 * KIB
        if total > FILLED:
            return
        target = to / file.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def keep(tree: Path) -> None:
    """Change nothing."""


def move(tree: Path) -> None:
    """Add a new file before all others, and put directories in another order, so that mke2fs writes files elsewhere."""
    Dataset("before", 3 * MIB).fill(tree / "a")
    for number, path in enumerate(sorted((tree / "files").glob("*/*/*"), reverse=True)):
        path.rename(tree / f"b{number:05}")


def revise(tree: Path) -> None:
    """Of each `EVERY` files delete one, rename one, put random bytes before one, and add a random one beside one."""
    draw = random.Random(0)
    for number, file in enumerate(sorted(path for path in tree.rglob("*") if path.is_file())):
        match number % EVERY:
            case 0:
                file.unlink()
            case 1:
                file.rename(file.with_name(f"{file.name}-renamed"))
            case 2:
                file.write_bytes(draw.randbytes(100) + file.read_bytes())
            case 3:
                file.with_name(f"{file.name}-new").write_bytes(draw.randbytes(file.stat().st_size))


CHANGES: dict[str, Change] = {"moved": move, "another version": revise}
