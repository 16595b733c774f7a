"""What the README shows of a command that measures nothing is what the command says."""

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
