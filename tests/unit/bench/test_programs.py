"""What benches that are programs have in common."""

from pathlib import Path

import pytest

from bench.load import LoadFailure
from bench.programs import measured
from proxy.errors import ExitCode


@pytest.mark.parametrize(
    ("error", "words"),
    [(LoadFailure("the sink died"), "the sink died"), (TimeoutError(), "TimeoutError()")],
    ids=["in words", "without any"],
)
def test_what_was_measured_before_a_failure_is_concluded(
    error: Exception, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    concluded: list[str] = []

    def measure(directory: Path) -> None:
        assert directory.is_dir()
        raise error

    def conclude(failure: str) -> bool:
        concluded.append(failure)
        return True

    assert measured("bench-any", measure, conclude) is ExitCode.FAILED
    assert concluded == [words]
    assert capsys.readouterr().err == f"bench-any failed: {words}\n"


@pytest.mark.parametrize(("right", "code"), [(True, ExitCode.OK), (False, ExitCode.FAILED)])
def test_a_run_to_the_end(right: bool, code: ExitCode) -> None:
    assert measured("bench-any", lambda directory: None, lambda failure: right and not failure) is code
