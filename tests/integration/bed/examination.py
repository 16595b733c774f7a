"""`isthmus doctor` as a test runs it."""

import json
from typing import Any

from bench.sites import Site
from proxy.errors import ExitCode
from tests.integration.bed.forked import isthmus

Findings = dict[str, dict[str, str]]


def examine(site: Site, *words: str) -> tuple[int, Findings]:
    """Exit code, and the findings by what they are about (of several the last); in the caller's network namespace."""
    done = isthmus("doctor", str(site.config), "--json", *words)
    assert done.stderr == ""
    said: dict[str, Any] = json.loads(done.stdout)
    for level in ("ok", "attention", "problem"):
        assert said[level] == sum(finding["level"] == level for finding in said["findings"])
    assert all(bool(finding["remedy"]) == (finding["level"] != "ok") for finding in said["findings"])
    assert done.returncode == (ExitCode.FAILED if said["problem"] else ExitCode.OK)
    return done.returncode, {finding["about"]: finding for finding in said["findings"]}


def level(findings: Findings, about: str) -> str:
    """ok, attention or problem."""
    return findings[about]["level"]
