"""A short run of the coverage-guided fuzzer over configurations, beginning with the contract's files."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.unit.config.contract import EAST, WEST

SCRIPT = Path(__file__).with_name("fuzz_config.py")
RUNS = 2000


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_a_short_run(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "east").write_text(EAST)
    (corpus / "west").write_text(WEST)
    command = [sys.executable, str(SCRIPT), str(corpus), f"-runs={RUNS}", "-max_len=4096", "-timeout=60", "-seed=1"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert f"Done {RUNS} runs" in ended.stderr
