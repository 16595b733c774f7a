"""PROTOCOL.md and the code say the same: numbers, names, lengths, states, and the tests that each rule names."""

import re
from enum import IntEnum
from pathlib import Path

import pytest

from proxy.protocol.codes import Capability, CloseCode, FrameType, ResetCode
from proxy.protocol.errors import Misuse
from proxy.protocol.reader import encode
from proxy.protocol.stream import TRANSITIONS

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "proxy" / "PROTOCOL.md").read_text()


def section(title: str) -> str:
    """From that heading to the next one of any level."""
    return re.split(r"^#+ .*\n", DOCUMENT.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.M)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def named(kind: type[IntEnum]) -> dict[int, str]:
    return {member.value: member.name.lower().replace("_", "-") for member in kind}


def test_every_test_that_is_named_exists() -> None:
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    brackets = re.findall(r"\[(test_[^\]]*)\]", DOCUMENT)
    references = {name.strip() for bracket in brackets for name in bracket.split(",")}
    assert references
    assert references <= files


FRAMES = (
    "Frames of the tunnel (stream 0, not numbered, not repeated)",
    "Frames of a stream (numbered, kept until acknowledged)",
)


def test_types() -> None:
    table = [row for title in FRAMES for row in rows(section(title)) if row[0].startswith("0x")]
    assert {int(row[0], 16): row[1] for row in table} == {kind.value: kind.name for kind in FrameType}


@pytest.mark.parametrize("title", FRAMES)
def test_lengths(title: str) -> None:
    for kind, _, _, longest, _ in (row for row in rows(section(title)) if row[0].startswith("0x")):
        assert len(encode(int(kind, 16), 0, 0, bytes(int(longest)))) == 16 + int(longest)
        with pytest.raises(Misuse):
            encode(int(kind, 16), 0, 0, bytes(int(longest) + 1))


def test_close_codes() -> None:
    table = [row for row in rows(section("CLOSE codes")) if row[0].isdigit()]
    assert {int(row[0]): row[1] for row in table} == named(CloseCode)


def test_reset_codes() -> None:
    text = section("RESET codes").split(".")[0]
    assert {int(number): name for number, name in re.findall(r"(\d+) ([a-z-]+)", text)} == named(ResetCode)


def test_capabilities() -> None:
    table = rows(DOCUMENT.split("| capability | name | meaning |\n|---|---|---|\n")[1].split("\n\n")[0])
    assert {int(row[0]): row[1] for row in table} == named(Capability)


def test_states() -> None:
    head, _, *table = rows(section("States of a stream"))
    written = {
        (re.sub(r" \(.*\)", "", row[0]), kind): after
        for row in table
        for kind, after in zip(head[1:], row[1:], strict=True)
        if after
    }
    assert written == {
        (state.name.lower().replace("_", " "), kind.name): after.name.lower().replace("_", " ")
        for (state, kind), after in TRANSITIONS.items()
    }
