"""What becomes of a process that a bench waits for."""

import pytest

from bench import processes
from bench.load import LoadFailure


def test_one_that_does_not_end_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told with all of its command line, by which the bench binds it to itself."""
    monkeypatch.setattr(processes, "PATIENCE_SECONDS", 0.01)
    with pytest.raises(LoadFailure, match=r"^the source did not end within 0 s$"):
        processes.output_of(["sleep", "600"], LoadFailure, "the source")


def test_one_that_fails_is_told_by_its_last_word() -> None:
    with pytest.raises(LoadFailure, match=r"^sh ended with status 3: no$"):
        processes.output_of(["sh", "-c", "echo well >&2; echo no >&2; exit 3"], LoadFailure)
