"""`isthmus wan` where its files cannot be; a line that stays up is for the integration tests."""

from pathlib import Path

import pytest

from bench.wan import WanFailure, command, namespaces


def test_a_runtime_directory_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for a defect."""
    (tmp_path / "run").touch()
    monkeypatch.setattr(command, "RUNTIME", tmp_path / "run" / "isthmus-wan")
    monkeypatch.setattr(namespaces, "lacking", lambda: "")
    with pytest.raises(WanFailure, match=r"run/isthmus-wan cannot be made: Not a directory; make it, as root"):
        command.up("wan-any", "auto", 1500, {})
