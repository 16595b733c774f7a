"""What `isthmus doctor` found, as lines for a terminal or as data."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from proxy.cli.cells import plain
from proxy.doctor.findings import Finding, Level
from proxy.text import printable

_STYLES = {Level.OK: "green", Level.ATTENTION: "yellow", Level.PROBLEM: "bold red"}
_WIDE = max(len(level.value) for level in Level) + 1


def count(findings: Sequence[Finding], level: Level) -> int:
    """How many are of that level."""
    return sum(finding.level is level for finding in findings)


def as_data(site: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """For JSON: the site's name, the number of findings by level, the findings."""
    return {
        "site": site,
        **{level.value: count(findings, level) for level in Level},
        "findings": [
            {"about": each.about, "level": each.level.value, "found": each.found, "remedy": each.remedy}
            for each in findings
        ],
    }


def show(findings: Sequence[Finding]) -> None:
    """A line each, unbroken, so that a remedy can be copied."""
    console = Console()
    wide = max(len(printable(finding.about)) for finding in findings) + 1
    for each in findings:
        level, about = f"{each.level.value:<{_WIDE}}", f"{printable(each.about):<{wide}}"
        console.print(plain(level, _STYLES[each.level]), plain(about), plain(each.found), soft_wrap=True)
        if each.remedy:
            console.print(plain(" " * (_WIDE + 1 + wide)), plain(f"→ {each.remedy}"), soft_wrap=True)
    console.print(plain(", ".join(f"{count(findings, level)} {level.value}" for level in Level), "bold"))
