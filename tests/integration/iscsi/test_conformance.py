"""The tests of iscsi-test-cu say the same through the pair as directly, by name and word for word.

Some fail directly, too, and others are skipped for what the target lacks: so words are compared, not successes. Each
run has a target of its own, for the tests reserve units and reset targets. They wait a lot, so all runs go at once.

Suites that move the same hundreds of megabytes by other commands are left to `make test-iscsi-all`, which also has
runs through a plain forward.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.array import IscsiTarget
from tests.integration.iscsi.stage import DIRECT, PROTOCOLS, forwarded, skip_without_tools
from tests.integration.iscsi.tap import Tap

ALL = "ISTHMUS_ISCSI_ALL" in os.environ
pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(900 if ALL else 300)]

SIZE = 16 << 20
DIGESTS = ("None", "CRC32C")
WAYS = PROTOCOLS if ALL else PROTOCOLS[-1:]
LONG = re.compile(r"(Verify|WriteVerify|WriteSame|OrWrite|Prefetch)\d*|(Read|Write)1[26]|Read6")
TESTS = 230
FAIL = 8
"""So many of them directly, with Debian's 1.19 and its tgt 1.0.85."""
SECONDS = 500.0

Outcomes = dict[str, str]
"""Name of a test to what was said of it."""


@dataclass(frozen=True)
class Run:
    """The tests once."""

    outcomes: Outcomes
    login: bytes
    """What the target said first."""


Runs = dict[tuple[str, str], Run]
"""By way and digest."""


@pytest.fixture(scope="module")
def runs(directory: Path) -> Iterator[Runs]:
    skip_without_tools("iscsi-test-cu")
    cases = [(way, digest) for way in (DIRECT, *WAYS) for digest in DIGESTS]
    with ThreadPoolExecutor(len(cases)) as threads:
        done = threads.map(lambda case: conduct(directory / "-".join(case), *case), cases)
        yield dict(zip(cases, done, strict=True))


def conduct(directory: Path, way: str, digest: str) -> Run:
    """The tests on that way, with that header digest: libiscsi offers both, and the target decides."""
    directory.mkdir()
    with ExitStack() as stack:
        target = stack.enter_context(IscsiTarget(directory, [SIZE], parameters={"HeaderDigest": digest}))
        address = target.address
        if way != DIRECT:
            address = stack.enter_context(forwarded(directory, address))[2][way]
        with Tap(address) as tap:
            _tests("--test", "ALL.TestUnitReady", target.url(1, tap.address))
        said = [_tests("--dataloss", "--verbose", "--test", tests, target.url(1, address)) for tests in chosen()]
        return Run(outcomes("\n".join(said)), bytes(tap.back.beginning))


def chosen() -> list[str]:
    """Names of tests, as iscsi-test-cu has them."""
    if ALL:
        return ["ALL"]
    listed = dict.fromkeys(".".join(name.split(".")[:2]) for name in _tests("--list").split() if name[:4] == "ALL.")
    return [name for name in listed if not LONG.fullmatch(name.removeprefix("ALL."))]


def _tests(*arguments: str) -> str:
    """It exits 1 on any failure, whatever it prints; where it cannot even begin, it complains and prints nothing."""
    command = ["iscsi-test-cu", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout, f"`{' '.join(command)}` ended with status {done.returncode}: {done.stderr}"
    return done.stdout


def outcomes(said: str) -> Outcomes:
    """CUnit names a suite, then each of its tests with what is said meanwhile, the verdict last."""
    found: Outcomes = {}
    for suite in re.split(r"^Suite: ", re.sub(r"(?s)\nRun Summary:.*?(?=\nSuite: |\Z)", "", said), flags=re.MULTILINE):
        name, *tests = re.split(r"^  Test: ", suite, flags=re.MULTILINE)
        found |= {f"{name.strip()}.{test.split()[0]}": test.split("...", 1)[1].strip() for test in tests}
    return found


@pytest.mark.parametrize("digest", DIGESTS)
@pytest.mark.parametrize("way", WAYS)
def test_the_same_by_name(runs: Runs, way: str, digest: str) -> None:
    direct, through = runs[DIRECT, digest].outcomes, runs[way, digest].outcomes
    assert len(direct) == TESTS if ALL else len(direct) > TESTS / 2
    assert sum("FAILED" in said for said in direct.values()) <= FAIL + 4
    assert through == direct


@pytest.mark.parametrize("digest", DIGESTS)
@pytest.mark.parametrize("way", [DIRECT, *WAYS])
def test_the_digest_is_the_one_that_was_asked_for(runs: Runs, way: str, digest: str) -> None:
    assert f"HeaderDigest={digest}\0".encode() in runs[way, digest].login
