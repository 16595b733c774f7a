"""The files of the repository, and what is written in those in Python."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BLOCKS = "body", "orelse", "finalbody", "handlers", "cases"
"""Fields of statements that hold others."""


@cache
def tracked() -> tuple[Path, ...]:
    """Files of the repository: as git knows them, so that nothing generated is judged."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout (an unpacked sdist, or git is missing)")
    paths = (ROOT / name for name in listing.stdout.decode().split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def python_files() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py"]


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def parsed(path: Path) -> ast.Module:
    """Not kept: what the collector of garbage takes to look through all trees is more than to parse each again."""
    return ast.parse(text_of(path), str(path))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All of them, however deep, without their expressions, which are ten times as many."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        for block in _BLOCKS:
            left += getattr(node, block, ())
