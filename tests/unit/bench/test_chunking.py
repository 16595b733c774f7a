"""What chunk sizes cost and find, on a small volume: the figures of each way to change it are plausible."""

import json
import sys
from pathlib import Path

import pytest

from bench import chunking


def test_smaller_chunks_find_more_and_cost_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chunking, "SIZE", 8 << 20)
    monkeypatch.setattr(chunking, "AVERAGES", (4 << 10, 64 << 10))
    file = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["chunking", "--json", str(file)])
    assert chunking.main() == 0
    small, large = json.loads(file.read_text())
    for figure in ("found_duplicate_files", "found_after_updates", "found_after_moves", "found_between_headers"):
        assert 0 <= large[figure] < small[figure] < 100
    assert small["references"] > 8 * large["references"]
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert f"{small['found_after_updates']:.2f}" in shown
