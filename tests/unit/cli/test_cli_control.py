"""`isthmus drain` and `reload`: only this site is told, and one that does not end is no secret."""

import itertools
import time
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace

import pytest

from proxy.aside import DISK_SECONDS, UNANSWERED
from proxy.cli import control
from proxy.errors import ExitCode
from proxy.identity import make_token
from proxy.net import inquiry
from proxy.web.gate import Limits
from tests.unit.cli.conftest import NO_TOKEN, OUTLINE, Isthmus, StatusSite, change

HASTE = 25.0
"""Times as fast as the clock."""


def test_a_site_that_does_not_end(
    isthmus: Isthmus, pair: Path, east: StatusSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    east.answers({"site": "east", "started": 1.0, "draining": True})
    clock = itertools.count(0.0, 60.0)
    monkeypatch.setattr(control, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=time.sleep))
    shown = isthmus("drain", pair / "east.toml", "--wait")
    assert shown.exit_code == ExitCode.FAILED
    assert "east still answers after 90s; its log says what it waits for, and kill -KILL ends" in shown.stderr


@pytest.mark.parametrize("command", ["drain", "reload"])
def test_a_token_that_the_site_has_not_read_yet(isthmus: Isthmus, pair: Path, east: StatusSite, command: str) -> None:
    token = pair / "east.token"
    token.write_bytes(make_token())
    token.chmod(0o600)
    file = pair / "east.toml"
    change(file, "[status]\n", '[status]\ncontrol_token = "east.token"\n')
    east.wants_a_token()
    shown = isthmus(command, file)
    assert shown.exit_code == ExitCode.FAILED
    assert f"site east refuses /api/v1/{command}: it does not know the token in {token}" in shown.stderr
    assert "may still have the one that it read at its start; have it read the file anew: systemctl rel" in shown.stderr


@pytest.mark.parametrize("command", ["drain", "reload"])
def test_a_new_token_to_read_needs_no_signal(isthmus: Isthmus, pair: Path, east: StatusSite, command: str) -> None:
    """The site knows the former one. The control token, which it knows, is enough."""
    for name, token in (("reading", "r" * 32), ("control", "c" * 32)):
        (pair / name).touch(0o600)
        (pair / name).write_text(token)
    file = pair / "east.toml"
    tokens = '[status]\ntoken = "reading"\ncontrol_token = "control"\n'
    change(file, "[status]\n", tokens)
    east.answers({"site": "east", "reloaded": True})
    assert isthmus(command, file).exit_code == ExitCode.OK
    assert (east.paths, set(east.tokens)) == ([OUTLINE, f"/api/v1/{command}"], {"Bearer " + "c" * 32})
    east.answers(NO_TOKEN, 401)
    refusal = isthmus("status", file).stderr
    assert f"{pair / 'reading'}, and may still" in refusal
    assert f"have it read the file anew: isthmus reload {file}" in refusal


@pytest.mark.parametrize("command", ["drain", "reload"])
def test_the_site_has_a_token_that_the_file_does_not_name(
    isthmus: Isthmus, pair: Path, east: StatusSite, command: str
) -> None:
    """As in a copy of its file. What header a program would send helps nobody here."""
    east.answers({"site": "east"})
    east.wants_a_token()
    words = f"a token is needed, and {pair}/east.toml names none; name the file of the site's as status.control_token"
    assert isthmus(command, pair / "east.toml").stderr == f"isthmus: site east refuses /api/v1/{command}: {words}\n"


def test_a_token_that_cannot_be_used(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    (pair / "reading").write_text("r" * 32)
    (pair / "reading").chmod(0o644)
    file = pair / "east.toml"
    change(file, "[status]\n", '[status]\ntoken = "reading"\n')
    east.answers(NO_TOKEN, 401)
    why = f"a token is needed, but {pair}/reading can be read or written by others than its owner; chmod 600"
    assert why in isthmus("status", file).stderr


@pytest.mark.usefixtures("east")
def test_no_token_where_one_is_named(isthmus: Isthmus, pair: Path) -> None:
    token, file = pair / "east.token", pair / "east.toml"
    change(file, "[status]\n", '[status]\ncontrol_token = "east.token"\n')
    shown = isthmus("reload", file)
    assert shown.exit_code == ExitCode.FAILED
    remedy = f"make one: (umask 077; openssl rand -hex 32 > {token}), or name another file as status.control_token"
    assert f"{token} does not exist; {remedy}" in shown.stderr


TAKEN_OVER = "It has taken over from {}: "
LEFT = "What else was changed in {} takes effect with "
AWAITING = f"{LEFT}a restart"


@pytest.mark.parametrize(
    ("told", "rest"),
    [
        ({}, [f"{AWAITING}."]),  # by an earlier version, which does not know
        ({"taken_over": [], "awaiting_restart": []}, []),
        (
            {"taken_over": ["forward array", "peer \x1b[2J"], "awaiting_restart": []},
            [f"{TAKEN_OVER}forward array, peer \\x1b[2J."],
        ),
        (
            {"taken_over": [], "awaiting_restart": ["tunnel.window", "peer \x1b[2J"]},
            [f"{AWAITING}: tunnel.window, peer \\x1b[2J."],
        ),
        (
            {"taken_over": [], "awaiting_restart": ["log.level"], "draining": True},
            [f"{LEFT}its next start, since it drains: log.level."],
        ),
        ({"taken_over": [], "awaiting_restart": [], "draining": True}, []),
    ],
)
def test_what_was_taken_over_is_said_and_what_awaits_a_restart(
    isthmus: Isthmus, pair: Path, east: StatusSite, told: dict[str, object], rest: list[str]
) -> None:
    """Who has changed an address, or added a peer, is not to take the answer for that."""
    east.answers({"site": "east", "reloaded": True} | told)
    shown = isthmus("reload", pair / "east.toml")
    assert shown.exit_code == ExitCode.OK
    assert shown.stdout.splitlines() == [
        "east has read its certificates, keys, pins and tokens anew.",
        *(words.format(pair / "east.toml") for words in rest),
    ]


def test_a_reload_is_waited_for_as_long_as_the_site_waits_for_its_disks(
    isthmus: Isthmus, pair: Path, east: StatusSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked again after 15 s, and 15 s later nobody knew whether it hung or was another program."""

    def connection(host: str, port: int, *, timeout: float) -> HTTPConnection:
        return HTTPConnection(host, port, timeout=timeout / HASTE)

    monkeypatch.setattr(inquiry, "HTTPConnection", connection)
    east.answers({"site": "east", "reloaded": False, "problem": UNANSWERED})
    east.takes = (2 * DISK_SECONDS - 10) / HASTE
    shown = isthmus("reload", pair / "east.toml")
    assert f"east keeps what it had: {UNANSWERED}" in shown.stderr
    assert shown.exit_code == ExitCode.FAILED
    assert east.paths == [OUTLINE, "/api/v1/reload"]
    assert 2 * DISK_SECONDS < Limits().answer < control.RELOADING, "nor does the site end the connection before"


@pytest.mark.parametrize("command", ["drain", "reload"])
def test_an_earlier_version_gives_its_streams_all_the_same(
    isthmus: Isthmus, pair: Path, east: StatusSite, command: str
) -> None:
    east.answers({"site": "east", "reloaded": True})
    east.earlier = True
    assert isthmus(command, pair / "east.toml").exit_code == ExitCode.OK
    assert east.paths == [OUTLINE, "/api/v1/status", f"/api/v1/{command}"]


@pytest.mark.parametrize("command", ["drain", "reload"])
def test_another_site_is_told_nothing(isthmus: Isthmus, pair: Path, east: StatusSite, command: str) -> None:
    east.answers({"site": "west", "reloaded": True})
    shown = isthmus(command, pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    assert "the site that answers there is 'west', not 'east'; see status.listen in both files" in shown.stderr
    assert east.paths == [OUTLINE]
