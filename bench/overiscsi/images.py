"""File systems that the far site knows in another shape: files at other places, or another version of them.

Three ext4 images of files of this machine: as they are (the first pass), copied so that all of them lie elsewhere, and
a version in which one file of twenty was changed, renamed, or is gone, and others are new. What the second image
costs on the wire is held against zstd alone, and against chunks cut from plain TCP.
"""

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import zstandard

from bench.array import ArrayFailure
from bench.datasets import Dataset
from bench.overiscsi.stage import KIB, MIB, PROTOCOLS, Cost, by_ours, standing
from bench.overwan.bench import Bench
from bench.overwan.results import Figure

SOURCES = ("/usr/share", "/usr/include", "/usr/lib", "/usr/bin")
"""Directories that a machine may have; the first one's small files come first."""
LARGEST = 2 * MIB
"""A file that is copied."""
SIZE = 96 * MIB
FILLED = SIZE * 4 // 5
EVERY = 20
WINDOW_LOG = 27
"""As `zstd --long`."""
WRITE = by_ours(MIB)


def lacking() -> str:
    """Why there can be no images here, or nothing."""
    return "" if shutil.which("mke2fs") else "not installed: mke2fs"


def images(bench: Bench) -> Iterator[Figure]:
    """Each other image, after the first one; its bytes in percent of the volume."""
    if reason := lacking():
        raise ArrayFailure(f"no file systems: {reason}")
    first = _image(bench, "first", lambda tree: None)
    others = {
        "the same files elsewhere": _image(bench, "moved", _move),
        "another version": _image(bench, "version", _revise),
    }
    costs = {name: [_pass(bench, protocol, first, image) for protocol in PROTOCOLS] for name, image in others.items()}
    for name, image in others.items():
        bench.tell(f"zstd alone, {name}")
        yield judged(name, _zstd(image, 3), _zstd(image, 12), *costs[name])


def judged(name: str, quick: float, thorough: float, tcp: Cost, iscsi: Cost) -> Figure:
    """The line of the table: a statement, without a goal."""
    values = {"zstd -3": quick, "zstd -12 --long": thorough, "tcp": tcp.share, "iscsi": iscsi.share}
    return Figure(f"{SIZE // MIB} MiB ext4", name, {**values}, (), tcp.identical and iscsi.identical)


def _pass(bench: Bench, protocol: str, first: Path, other: Path) -> Cost:
    """A pair of its own for each: what was written before decides."""
    with standing(bench.directory / f"{other.name}-{protocol}", protocol, SIZE) as stage:
        bench.tell(f"{protocol}, {other.name}")
        before = stage.cost(first, WRITE)
        cost = stage.cost(other, WRITE)
        return Cost(cost.share, cost.header, before.identical and cost.identical)


def _image(bench: Bench, name: str, change: Callable[[Path], None]) -> Path:
    """A file system of the source's files, after that change."""
    bench.tell(f"making the file system: {name}")
    tree, path = bench.directory / f"tree-{name}", bench.directory / f"image-{name}"
    _copy(tree / "files")
    change(tree)
    make = ["mke2fs", "-q", "-t", "ext4", "-m", "0", "-d", str(tree), str(path), f"{SIZE // MIB}M"]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    shutil.rmtree(tree)
    if done.returncode:
        raise ArrayFailure(f"mke2fs ended with status {done.returncode}: {done.stderr.strip()}")
    return path


def _copy(to: Path) -> None:
    """As many files as fit, in the order of their names."""
    total = 0
    for file in chain.from_iterable(sorted(Path(source).rglob("*")) for source in SOURCES):
        if file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST:
            continue
        total += max(file.stat().st_size, 4 * KIB)
        if total > FILLED:
            return
        target = to / file.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def _move(tree: Path) -> None:
    """Something new before all, and each directory under another name: mke2fs fills in the order of directories."""
    (tree / "a").write_bytes(b"".join(Dataset("before", 3 * MIB)))
    for number, path in enumerate(sorted((tree / "files").glob("*/*/*"), reverse=True)):
        path.rename(tree / f"b{number:05}")


def _revise(tree: Path) -> None:
    """Of each twenty files: one is gone, one has a new name, one begins with new words, one has a brother."""
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


def _zstd(image: Path, level: int) -> float:
    """Percent of the image that it compresses to, all at once."""
    long = level > 3
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, window_log=WINDOW_LOG if long else 0, enable_ldm=long
    )
    data = image.read_bytes()
    return 100 * len(zstandard.ZstdCompressor(compression_params=parameters).compress(data)) / len(data)
