"""What the README shows of a command that measures nothing is what the command says; its speeds, those of the bench."""

import re
from pathlib import Path

from tests.unit.cli.conftest import Isthmus

README = Path(__file__).parents[3] / "README.md"
COMMAND = "$ isthmus plan "


def test_the_plan_of_the_readme(isthmus: Isthmus) -> None:
    """All of each table that it shows; what it leaves out stands between " ..." lines."""
    typed, _, shown = README.read_text().partition(COMMAND)[2].partition("```")[0].partition("\n")
    tables = [part.splitlines() for part in shown.split(" ...\n") if part.strip()]
    said = [line.rstrip() for line in isthmus("plan", *typed.split()).stdout.splitlines()]
    for table in tables:
        begin = said.index(table[0])
        assert said[begin : said.index("", begin)] == table


def test_the_speed_of_the_readme_is_that_of_the_bench() -> None:
    """README.md had the figures of the fastest machine, above the table that it leads to."""
    bench = (README.parent / "bench" / "README.md").read_text()
    rows = {
        store: re.search(rf"\| {store} \| incompressible \| (\d+) \| (\d+) \|", bench) for store in ("memory", "disk")
    }
    told = re.search(
        r"(\d+) MB/s cold and (\d+) warm .*? memory, (\d+) and (\d+) with stores on disk", README.read_text()
    )
    assert told
    assert list(told.groups()) == [figure for row in rows.values() if row for figure in row.groups()]
