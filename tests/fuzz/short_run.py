"""A short run of a coverage-guided fuzzer over what it is to begin with."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.patience import PATIENCE

needs_atheris = pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")


def short_run(script: str, directory: Path, inputs: Iterable[bytes], runs: int, longest: int = 4096) -> None:
    """The fuzzer of that name in this folder finds nothing in so many runs; inputs are of `longest` bytes at most.

    The same runs each time. What it writes is left in the directory.
    """
    corpus = directory / "corpus"
    corpus.mkdir()
    for at, content in enumerate(inputs):
        (corpus / str(at)).write_bytes(content)
    options = [f"-runs={runs}", f"-max_len={longest}", "-timeout=60", "-seed=1"]
    command = [sys.executable, str(Path(__file__).with_name(script)), str(corpus), *options]
    ended = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    done = re.search(r"^Done (\d+) runs", ended.stderr, re.MULTILINE)  # now and then one more than was asked for
    assert done is not None, ended.stderr[-4000:]
    assert int(done[1]) >= runs
