"""A short run of the coverage-guided fuzzer over tokens, batches and streams, beginning with the vectors."""

import json
from pathlib import Path
from typing import Any

from tests.fuzz.short_run import needs_atheris, short_run

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "reduction.json").read_text())
TOKENS, BATCH, STREAM, CONTEXT, SPANS = (bytes((target,)) for target in range(5))
BLOCKS = ["880000" + 17 * "61", "8a0000 61", "280000 6162636465 620000 61", "28b52ffd 0048 8a0000 61"]
"""Of a frame that goes on; the last one begins anew."""
FEED, FILL, END = 0, 2, 3


def step(kind: int, payload: bytes) -> bytes:
    return bytes((kind,)) + len(payload).to_bytes(2) + payload


def stream(vector: dict[str, Any]) -> bytes:
    taken = [step(FILL, b"") if "fill" in one else step(FEED, bytes.fromhex(one["batch"])) for one in vector["steps"]]
    return STREAM + b"".join(taken) + step(END, bytes.fromhex(vector.get("end", "")))


def corpus() -> list[bytes]:
    batches = [bytes.fromhex(vector["batch"]) for vector in VECTORS["refused"]]
    inputs = [stream(vector) for vector in VECTORS["streams"]]
    inputs += [BATCH + batch for batch in batches]
    inputs += [TOKENS + batch[12:] for batch in batches]
    inputs += [CONTEXT + step(1, bytes.fromhex(blocks)) for blocks in BLOCKS]
    spans = [step(1, bytes.fromhex(one["batch"])) for one in VECTORS["spans"]]
    inputs += [SPANS + b"".join(spans), SPANS + step(0, b"") + b"".join(spans[1:])]
    return inputs


@needs_atheris
def test_a_short_run(tmp_path: Path) -> None:
    short_run("fuzz_reduction.py", tmp_path, corpus(), runs=20_000)
