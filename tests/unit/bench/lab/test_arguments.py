"""A compose file's variables become arguments: a wrong one is one line and exit status 2, before anything begins."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.lab import array, end, line, story
from bench.wan.settings import Line
from proxy.errors import ExitCode

VOLUMES = ["--volumes", "east", "west"]


@pytest.mark.parametrize(
    ("main", "words", "told"),
    [
        (array.main, [], "the following arguments are required: directory, size"),
        (array.main, ["/array", "64"], '"64" is not a size; write a number and one of B, KiB'),
        (array.main, ["/array", "0MiB"], '"0MiB" is too little to be measured; write 1MiB or more'),
        (end.main, ["north", "/ends", "1500"], "invalid choice: 'north'"),
        (end.main, ["east", "/ends", ""], '"" is not a whole number; write 1 or more'),
        (line.main, [], "the following arguments are required: directory, mtu"),
        (line.main, ["/ends", "1500", "rate"], '"rate" is no setting; write KEY=VALUE, KEY one of rate, delay'),
        (line.main, ["/ends", "1500", "mtu=9000"], '"mtu=9000" is no setting; write KEY=VALUE'),
        (line.main, ["/ends", "1500", "rate=fast"], "rate 'fast' is not a rate; write a number and one of bit"),
        (line.main, ["/ends", "9", "rate=1Mbit"], "mtu 9 is not from 576 to 65535"),
        (story.main, [*VOLUMES, "--size", "64"], '"64" is not a size; write a number'),
        (story.main, [*VOLUMES, "--rounds=-1"], '"-1" is not a whole number; write 0 or more'),
    ],
)
def test_wrong_arguments(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    main: Callable[[], None],
    words: list[str],
    told: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == ExitCode.USAGE
    assert told in capsys.readouterr().err.splitlines()[-1]


def test_the_arguments_of_the_compose_file(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ["rate=45Mbit", "delay=50ms", "loss=1%"]
    monkeypatch.setattr(sys, "argv", ["program", "/run/ends", "1500", *settings])
    assert line.arguments() == (Path("/run/ends"), Line.of(rate="45Mbit", delay="50ms", loss="1%"))
    monkeypatch.setattr(sys, "argv", ["program", *VOLUMES, "--size=64MiB", "--rounds=0"])
    told = story.arguments()
    assert (told.volumes, told.size, told.rounds) == ([Path("east"), Path("west")], 64 << 20, 0)
