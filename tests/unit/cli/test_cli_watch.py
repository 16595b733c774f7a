"""`isthmus status --watch` on a terminal: it fits, tells what matters first, and q or Ctrl-C ends it."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.cli.fitting import Section, page
from proxy.cli.watch_report import ASKED, sections
from proxy.errors import ExitCode
from tests.patience import PATIENCE
from tests.unit.cli.conftest import OUTLINE, PROGRAM, StatusSite
from tests.unit.cli.statuses import REASON, STATUS, anything, rendered

TUNNEL = {"level": "critical", "loss": 0.013, "sent_bits_per_second": 1e6, "reasons": [REASON], "lanes": []}
CAUTION = {"code": "IST-501", "subject": "forward array", "words": "does not reduce", "remedy": "encrypt later"}
ANSWERS: dict[str, dict[str, Any]] = {
    "status": STATUS,
    "health": {
        "level": "critical",
        "since": 40.0,
        "words": "peer west is away",
        "reasons": [],
        "store": {"reasons": []},
        "peers": [{"name": "west", "reasons": [], "tunnel": TUNNEL}],
    },
    "warnings": {"warnings": [CAUTION]},
    "history": {
        "chart": {"lan_sent": [None, 0, 5e6, 1e7, None, None], "wan_sent": [1.0], "wan_received": [None]},
        "summary": {"lan_sent": {"peak": 2e7, "average": 1.5e6}},
    },
    "streams": {"streams": STATUS["streams"]},
    "store": {"mode": "disk", "used_bytes": 512, "size_bytes": 1024, "hit_rate": 0.5, "alarms": ["the disk is full"]},
    "events": {"events": [{"time": 1e9, "severity": "error", "code": "IST-201", "subject": "store", "words": "full"}]},
}
PARTS = ("status", *ASKED)
SCREEN_LEFT = b"\x1b[?1049l"
"""The terminal's own lines come back."""
NOTHING: dict[str, dict[str, Any]] = {name: {} for name in PARTS}


def lines(answers: dict[str, dict[str, Any]], width: int = 200, height: int = 60) -> list[str]:
    return rendered(page(sections(answers, 100.0, width), height), width, height).splitlines()


def test_all_that_the_page_shows() -> None:
    text = "\n".join(" ".join(line.split()) for line in lines(ANSWERS))
    for part in (
        "Health east 0.1.0, ready, up 1 d 2 h",
        "critical peer west is away for 1 min 0 s",
        "critical IST-102 peer west: no lane is up for 1 min 0 s → see the line",
        "warning IST-501 forward array: does not reduce → encrypt later",
        "from arrays here 10 Mbit/s 20 Mbit/s 1.5 Mbit/s ▄█",
        "after deduplication 250 MiB 25.0%",
        "west up 1 100 ms 1.3% 1 Mbit/s - wan rate 93% the line takes 43.1 Mb/s",
        "7 west forward replication 10.0.0.9:51234 - - zstd 3, 8 MiB source idle 61% nothing came from the array",
        "disk 512 B of 1 KiB - 50.0%",
        "alarm the disk is full",
        "error IST-201 store: full",
    ):
        assert part in text, f"{part}\n\n{text}"


def test_what_a_receiving_site_sends_is_set_against_nothing() -> None:
    """The line carried acknowledgements, a hundred times the few bytes that its arrays gave."""
    received = {"raw": 2400, "after_deduplication": 2400, "after_compression": 2000, "wire": 250_000}
    found = [" ".join(line.split()) for line in lines(ANSWERS | {"status": STATUS | {"bytes": received}})]
    assert "on the wire 244 KiB -" in found


def test_a_narrow_terminal_does_without_some_columns() -> None:
    text = "\n".join(" ".join(line.split()) for line in lines(ANSWERS, width=100))
    assert "west up 100 ms 1 Mbit/s - wan rate 93% the line" in text
    assert "7 forward replication - - source idle 61% nothing came" in text


@pytest.mark.parametrize("width", [40, 60, 71, 72, 80, 100])
@pytest.mark.parametrize("height", [60, 14])
def test_no_figure_is_cut_off(width: int, height: int) -> None:
    """ "385 …" may be MiB or GiB."""
    shown = "\n".join(lines(ANSWERS, width, height))
    for figure in ("10 Mbit/s", "250 MiB", "25.0%"):
        assert figure in shown
    assert not re.search(r"\d ?\w*…", shown), shown


def test_a_remedy_is_shown_to_its_end() -> None:
    """It was cut off, mostly as a whole."""
    remedy = "see the peer's last error; `isthmus doctor` on both hosts says what keeps them apart"
    warning = {"code": "IST-102", "subject": "peer west", "words": "there is no tunnel to it", "remedy": remedy}
    for width in (40, 60):
        shown = " ".join(lines(NOTHING | {"warnings": {"warnings": [warning]}}, width)).split()
        assert f"warning IST-102 peer west: there is no tunnel to it → {remedy}" in " ".join(shown)


@pytest.mark.parametrize("height", [*range(1, 12), 20, 24, 30, 44])
def test_it_fits_any_terminal(height: int) -> None:
    many = ANSWERS | {"streams": {"streams": STATUS["streams"] * 100}, "events": {"events": [{"time": 1.0}] * 50}}
    for width in (20, 80, 200):
        shown = lines(many, width, height)
        assert len(shown) <= height
        assert max(map(len, shown), default=0) <= width


def test_the_first_sections_count_most() -> None:
    rows = [(str(number),) for number in range(10)]
    shown = page([Section(("first",), rows), Section(("last",), rows, newest=True)], 12)
    words = [line.strip() for line in rendered(shown, width=20).splitlines()]
    assert words == ["first (3 more)", *"0123456", "last (7 more)", *"789"]


def test_without_answers_there_is_little_to_show() -> None:
    assert "not ready" in lines(NOTHING)[0]


ODD = anything(["bytes", "name", "lanes"])


@settings(max_examples=40)
@given(st.fixed_dictionaries({name: st.dictionaries(st.sampled_from(sorted(ANSWERS[name])), ODD) for name in PARTS}))
def test_anything_odd_is_shown_as_a_dash(answers: dict[str, dict[str, Any]]) -> None:
    assert lines(answers)


def test_hostile_names_do_nothing() -> None:
    def spoiled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spoiled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [spoiled(inner) for inner in value]
        return "[link=x]\x1b[2J\n[/link]" if isinstance(value, str) else value

    shown = lines(spoiled(ANSWERS), width=400)
    assert all(line.isprintable() for line in shown)
    assert any(r"[link=x]\x1b[2J\n[/link]" in line for line in shown)


@pytest.mark.parametrize("words", ["closed by west: [/]", "see [link=http://west.example]here[/link]"])
def test_words_of_what_is_wrong_are_no_markup(words: str) -> None:
    """A peer says why it closed a lane: that ended the page as a defect, or made a link of what it liked."""
    reason = REASON | {"words": words, "remedy": words}
    health = ANSWERS["health"] | {"words": words, "reasons": [reason]}
    shown = lines(ANSWERS | {"health": health, "warnings": {"warnings": [CAUTION | {"words": words}]}}, width=400)
    said = [f"{words} for", f"site: {words} for 1 min 0 s → {words}", f"array: {words} → encrypt"]
    assert all(any(each in line for line in shown) for each in said)


def watching(config: Path) -> list[str]:
    return [*PROGRAM, "status", str(config), "--watch"]


@contextlib.contextmanager
def at_a_terminal(config: Path, kind: str = "xterm") -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """`isthmus status --watch` at a terminal of 24 lines, and our end of that."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": kind}
    process = subprocess.Popen(watching(config), stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def wait_for(ours: int, words: bytes) -> None:
    """Read what the terminal is sent until it has these words."""
    seen, deadline = b"", time.monotonic() + PATIENCE
    while words not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([ours], [], [], 1)[0]:
            seen += os.read(ours, 65536)


def press_q(process: "subprocess.Popen[bytes]", ours: int) -> None:
    os.write(ours, b"xq")


def press_ctrl_c(process: "subprocess.Popen[bytes]", ours: int) -> None:
    process.send_signal(signal.SIGINT)


def terminate(process: "subprocess.Popen[bytes]", ours: int) -> None:
    process.terminate()


@pytest.mark.parametrize("end", [press_q, press_ctrl_c, terminate])
def test_at_a_terminal(pair: Path, east: StatusSite, end: Callable[["subprocess.Popen[bytes]", int], None]) -> None:
    east.answers(STATUS)
    with at_a_terminal(pair / "east.toml") as (process, ours):
        wait_for(ours, b"up 1 d 2 h")
        end(process, ours)
        wait_for(ours, SCREEN_LEFT)
        assert process.wait(PATIENCE) == 0
        assert termios.tcgetattr(ours)[3] & termios.ECHO
    assert OUTLINE in east.paths
    assert "/api/v1/status" not in east.paths, "a hub may have a thousand streams, and the page shows a few"


def test_a_site_that_is_not_there_yet(pair: Path) -> None:
    with at_a_terminal(pair / "east.toml") as (_, ours):
        wait_for(ours, b"no status of site east")
        with contextlib.closing(StatusSite(pair / "east.toml")) as site:
            site.answers(STATUS)
            wait_for(ours, b"up 1 d 2 h")


def test_a_terminal_that_cannot_go_back_gets_a_page_below_the_other(pair: Path, east: StatusSite) -> None:
    east.answers(STATUS)
    with at_a_terminal(pair / "east.toml", "dumb") as (_, ours):
        for _ in range(2):
            wait_for(ours, b"up 1 d 2 h")


def test_without_a_terminal_each_page_comes_at_once(pair: Path, east: StatusSite) -> None:
    east.answers(STATUS)
    read, write = os.pipe()
    process = subprocess.Popen(watching(pair / "east.toml"), stdout=write)
    os.close(write)
    try:
        for _ in range(2):
            wait_for(read, b"up 1 d 2 h")
        os.close(read)
        assert process.wait(PATIENCE) == ExitCode.FAILED, "as everybody whose reader has gone"
    finally:
        process.kill()
        process.wait()


def test_a_full_disk_ends_it(pair: Path, east: StatusSite) -> None:
    east.answers(STATUS)
    with Path("/dev/full").open("wb") as full:
        command = watching(pair / "east.toml")
        shown = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert shown.returncode == ExitCode.FAILED
    assert shown.stderr.startswith(b"isthmus: output cannot be written: No space left on device; ")
