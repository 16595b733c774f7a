"""`make bench-iscsi`, much shortened: it measures, shows, writes its data, and compares every byte."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.array import IscsiTarget
from bench.overiscsi import ends
from bench.overiscsi.conversation import Conversation
from bench.sites import environment, free_port
from tests.integration.bench.surplus import Surplus
from tests.integration.iscsi.tap import Tap

COMMAND = [sys.executable, "-m", "bench.overiscsi"]


@pytest.mark.root
@pytest.mark.serial
def test_one_line_much_shortened(tmp_path: Path) -> None:
    if reason := IscsiTarget.lacking():
        pytest.skip(reason)
    file = tmp_path / "figures.json"
    arguments = ["--only", "second-pass", "--lines", "1", "--scale", "0.01", "--json", str(file)]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert "A volume that was written before" in done.stdout
    first, again = json.loads(file.read_text())["figures"]["second-pass"]
    assert first["identical"]
    assert again["identical"]
    assert first["values"]["iscsi"] > 99
    assert again["values"]["iscsi"] < 2
    assert 0 < again["values"]["B/PDU"] < 48


def test_the_ends_compare_what_they_get(tmp_path: Path) -> None:
    """Without a pair between them: as it should be, then with a bit that flips on the way there, or back."""
    content = bytes(range(256)) * 1000
    play = ends.write_down(Conversation(pdu=8192, command=65536), content, tmp_path / "conversation")
    port = free_port()
    with ends.target(play, port) as sink, Tap(("127.0.0.1", port)) as tap:
        run = ends.run(play, tap.address, sink)
        assert (run.bytes, run.identical) == (len(content), True)
        for way in (tap.ahead, tap.back):
            way.flip(200)
            assert not ends.run(play, tap.address, sink).identical
    play.remove()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("outward", [True, False], ids=["there", "back"])
def test_the_ends_notice_a_byte_too_much(tmp_path: Path, outward: bool) -> None:
    content = bytes(range(256)) * 1000
    conversation = Conversation(pdu=8192, command=65536)
    play = ends.write_down(conversation, content, tmp_path / "conversation")
    sizes = play.file.stat().st_size, sum(map(len, conversation.back(len(content))))
    port = free_port()
    with ends.target(play, port) as sink, Surplus(("127.0.0.1", port), sizes[not outward], outward) as wire:
        assert not ends.run(play, wire.address, sink).identical


def test_what_is_missing_is_one_clear_error() -> None:
    nothing = {**environment(), "PATH": ""}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=nothing, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "bench-iscsi cannot run here: " in done.stderr
