"""Programs that stand in for those that are installed: a line of shell, found before them."""

import os
from pathlib import Path


def stand_in(directory: Path, name: str, does: str) -> Path:
    """A program of that name in the directory; who is given `path_with` as PATH finds it."""
    program = directory / name
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return program


def path_with(directory: Path) -> str:
    """PATH, with that directory before all others."""
    return f"{directory}:{os.environ['PATH']}"
