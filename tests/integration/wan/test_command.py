"""`isthmus wan` as it is typed: a line that stays up between commands."""

import json
import os
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from bench.sites import environment, isthmus
from bench.wan import namespaces
from proxy.errors import ExitCode
from tests.integration.bed.lines import line_or_skip
from tests.patience import PATIENCE

pytestmark = pytest.mark.root

PREFIX = f"wan-typed-{os.getpid()}"
NAMES = namespaces.names(PREFIX)


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    command = isthmus("wan", words[0], "--prefix", PREFIX, *words[1:])
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)


@pytest.fixture
def up() -> Iterator[str]:
    """A line; what was printed when it came up."""
    with line_or_skip():
        pass  # or skip
    typed("down")  # what an earlier run may have left
    done = typed("up", "--backend", "tun", "--rate", "45Mbit", "--delay", "1ms")
    assert (done.returncode, done.stderr) == (0, "")
    yield done.stdout
    typed("down")
    assert not any(namespaces.exists(name) for name in NAMES.values())


def stats() -> dict[str, dict[str, dict[str, int]]]:
    done = typed("stats", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, dict[str, int]]] = json.loads(done.stdout)
    return found


def test_a_line_from_up_to_down(up: str) -> None:
    assert f"ip netns exec {NAMES['east']} COMMAND" in up
    assert namespaces.ADDRESSES["west"] in up
    assert typed("set", "--toward", "east", "--loss", "100%").returncode == 0
    assert typed("outage", "on", "--toward", "west").returncode == 0
    found = stats()
    assert [found["line"][way]["loss"] for way in ("west", "east")] == [0, 1]
    assert [found["ways"][way]["out"] for way in ("west", "east")] == [True, False]
    assert typed("outage", "off").returncode == 0
    shown = typed("stats").stdout
    assert "45,000,000" in shown
    assert max(map(len, shown.splitlines())) <= 110
    assert typed("down").stdout == f"The line {PREFIX} is down.\n"
    assert typed("down").stdout == f"There was no line {PREFIX}.\n"


def test_down_after_a_crash(up: str) -> None:
    for each in psutil.process_iter(["cmdline"]):
        words = each.info["cmdline"] or []
        if "bench.wan.keeper" in words and any(PREFIX in word for word in words):
            each.kill()
    assert f"there is no line {PREFIX}; `isthmus wan up --prefix {PREFIX}` makes it" in typed("stats").stderr
    refused(f"there is a network namespace {NAMES['east']} already; take it down", "up")
    assert typed("down").stdout == f"The line {PREFIX} is down.\n"
    assert typed("up").returncode == 0


def test_of_several_at_once_one_comes_up(up: str) -> None:
    """The others removed its socket and its namespaces, or ended without a reason."""
    typed("down")
    command = isthmus("wan", "up", "--prefix", PREFIX)
    started = [subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) for _ in range(8)]
    told = sorted(process.communicate(timeout=PATIENCE)[1] for process in started)
    remedy = f"`isthmus wan down --prefix {PREFIX}` ends it, another --prefix makes another"
    refusal = f"isthmus: the line {PREFIX} is up already; {remedy}\n"
    assert told == ["", *[refusal] * 7]
    assert stats()["ways"]["west"]["packets"] == 0


def test_refusals(up: str) -> None:
    refused(f"the line {PREFIX} is up already", "up")
    refused("nothing is to be set; name a setting", "set", code=ExitCode.USAGE)
    refused("--queue 64B toward east is shorter than", "set", "--queue", "64B", "--toward", "east", code=ExitCode.USAGE)
    refused("--loss '2' is not a percentage; write a percentage", "set", "--loss", "2", code=ExitCode.USAGE)
    refused("there is no line wan-nobody", "stats", "--prefix", "wan-nobody")
    refused("--prefix '../x' is not 1 to 32 of", "down", "--prefix", "../x", code=ExitCode.USAGE)


@pytest.mark.parametrize(
    ("complaint", "words"),
    [
        ("--rate '45' is not a rate; write", ("--rate", "45")),
        ("--rate 1kbit is not from 8kbit to 10Gbit", ("--rate", "1kbit")),
        ("--path-mtu '14x' ", ("--path-mtu", "14x")),
        ("--mtu 5 is not from 576 to 65535", ("--mtu", "5")),
        ("--loss 90.0% does not go with runs of 2 packets", ("--loss", "90%", "--burst", "2")),
        ("--queue 64B toward west is shorter than one packet", ("--queue", "64B")),
    ],
)
def test_values_that_no_line_can_have(complaint: str, words: tuple[str, ...]) -> None:
    refused(complaint, "up", *words, code=ExitCode.USAGE)


def refused(complaint: str, *words: str, code: ExitCode = ExitCode.FAILED) -> None:
    done = typed(*words)
    assert done.returncode == code
    assert done.stderr.startswith(f"isthmus: {complaint}")
    assert len(done.stderr.splitlines()) == 1


def test_who_is_not_root_is_told_so() -> None:
    program = "import os, sys; os.setuid(65534); from proxy.cli import main; sys.argv[1:] = ['wan', 'up']; main()"
    command = [*isthmus()[:1], "-c", f"import proxy.cli.commands, bench.wan.command; {program}"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == "isthmus: no line can be emulated here: network namespaces need root; run it with sudo\n"
