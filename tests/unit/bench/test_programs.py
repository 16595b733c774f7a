"""What benches that are programs have in common."""

import argparse
from pathlib import Path

import pytest

from bench.load import LoadFailure
from bench.programs import file_to_write, measured
from proxy.errors import ExitCode
from tests.nobody import directory_of_nobody


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


def test_a_file_that_cannot_be_there_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    assert file_to_write(str(tmp_path / "figures.json")) == tmp_path / "figures.json"
    for wrong, told in ((tmp_path / "no" / "figures.json", "is in no directory; make"), (tmp_path, "is a directory; ")):
        with pytest.raises(argparse.ArgumentTypeError, match=told):
            file_to_write(str(wrong))


def test_a_file_that_this_user_may_not_write_is_told_as_early() -> None:
    with directory_of_nobody() as path:
        (path / "figures.json").touch(0o400)
        (path / "closed").mkdir(0o500)
        for wrong in (path / "figures.json", path / "closed" / "figures.json"):
            with pytest.raises(argparse.ArgumentTypeError, match="cannot be written by this user"):
                file_to_write(str(wrong))
