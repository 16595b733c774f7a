"""A short run of the coverage-guided fuzzer over configurations, beginning with the contract's files."""

from pathlib import Path

from tests.fuzz.short_run import needs_atheris, short_run
from tests.unit.config.contract import EAST, WEST


@needs_atheris
def test_a_short_run(tmp_path: Path) -> None:
    short_run("fuzz_config.py", tmp_path, [EAST.encode(), WEST.encode()], runs=2_000)
