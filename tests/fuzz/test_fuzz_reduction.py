"""A short run of the coverage-guided fuzzer over tokens, batches and streams, beginning with the vectors."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

SCRIPT = Path(__file__).with_name("fuzz_reduction.py")
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "reduction.json").read_text())
RUNS = 20_000
TOKENS, BATCH, STREAM, CONTEXT, SPANS = (bytes((target,)) for target in range(5))
BLOCKS = ["880000" + 17 * "61", "8a0000 61", "280000 6162636465 620000 61", "28b52ffd 0048 8a0000 61"]
"""Of a frame that goes on; the last one begins anew."""
FEED, FILL, END = 0, 2, 3


def step(kind: int, payload: bytes) -> bytes:
    return bytes((kind,)) + len(payload).to_bytes(2) + payload


def stream(vector: dict[str, Any]) -> bytes:
    taken = [step(FILL, b"") if "fill" in one else step(FEED, bytes.fromhex(one["batch"])) for one in vector["steps"]]
    return STREAM + b"".join(taken) + step(END, bytes.fromhex(vector.get("end", "")))


def write_corpus(directory: Path) -> None:
    directory.mkdir()
    batches = [bytes.fromhex(vector["batch"]) for vector in VECTORS["refused"]]
    inputs = [stream(vector) for vector in VECTORS["streams"]]
    inputs += [BATCH + batch for batch in batches]
    inputs += [TOKENS + batch[12:] for batch in batches]
    inputs += [CONTEXT + step(1, bytes.fromhex(blocks)) for blocks in BLOCKS]
    spans = [step(1, bytes.fromhex(one["batch"])) for one in VECTORS["spans"]]
    inputs += [SPANS + b"".join(spans), SPANS + step(0, b"") + b"".join(spans[1:])]
    for at, content in enumerate(inputs):
        (directory / str(at)).write_bytes(content)


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_a_short_run(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    write_corpus(corpus)
    command = [sys.executable, str(SCRIPT), str(corpus), f"-runs={RUNS}", "-max_len=4096", "-timeout=60", "-seed=1"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert f"Done {RUNS} runs" in ended.stderr
