"""`isthmus init`: right files from flags and from answers, every mistake at once, nothing ever written over."""

import os
import platform
import pty
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from proxy.cli.questions import ask
from proxy.config.loading import load
from proxy.errors import ExitCode
from proxy.identity import read_token
from proxy.setup.container import IMAGE_USER
from proxy.setup.invitation import decode
from tests.patience import PATIENCE
from tests.unit.cli.conftest import PROGRAM, Isthmus, line_of

EAST = ("--site", "east", "--peer", "west", "--listen", "198.18.0.1:4500", "--forward", "127.0.0.1:3260")
NAMES = {"east.toml", "east.key", "east.crt", "east.token", "compose.yaml", ".env"}


def test_the_files_and_what_to_do_next(isthmus: Isthmus, tmp_path: Path) -> None:
    shown = isthmus("init", *EAST, "--out", tmp_path / "new")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert {path.name for path in (tmp_path / "new").iterdir()} == NAMES | {"state"}
    assert stat.S_IMODE((tmp_path / "new" / "east.key").stat().st_mode) == 0o600
    invitation = decode(line_of(shown.stdout))
    assert (invitation.name, str(invitation.address)) == ("east", "198.18.0.1:4500")
    assert f"isthmus serve {tmp_path}/new/east.toml" in shown.stdout


def test_drain_and_reload_need_a_token_of_its_own(isthmus: Isthmus, tmp_path: Path) -> None:
    """Or whoever has an account on the host could drain the site."""
    tokens = set()
    for name in ("one", "two"):
        isthmus("init", *EAST, "--out", tmp_path / name)
        status = load(tmp_path / name / "east.toml", files=False).status
        assert status.control_token == tmp_path / name / "east.token"
        assert stat.S_IMODE(status.control_token.stat().st_mode) == 0o600
        tokens.add(read_token(status.control_token, "status.control_token"))
    assert len(tokens) == 2


def test_what_the_site_writes_has_a_place_of_its_own(isthmus: Isthmus, tmp_path: Path) -> None:
    """All else is only read in the container."""
    isthmus("init", *EAST, "--out", tmp_path)
    assert load(tmp_path / "east.toml", files=False).store.path == tmp_path / "state" / "store"
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_every_flag_is_in_the_file(isthmus: Isthmus, tmp_path: Path) -> None:
    more = ("--export", "10.1.0.5:3260", "--export", "second=[2001:db8::5]:860", "--forward", "second=127.0.0.1:3261")
    rest = ("--store", "memory", "--store-size", "1GiB", "--rate", "45Mbit", "--status", "127.0.0.1:8999")
    kept = ("--history", "/var/lib/isthmus/east/history.db")
    assert (
        isthmus("init", *EAST, *more, *rest, *kept, "--peer", "west=west.example:4500", "--out", tmp_path).exit_code
        == 0
    )
    site = load(tmp_path / "east.toml", files=False)
    assert [(str(peer.address), peer.rate) for peer in site.peers] == [("west.example:4500", 45_000_000)]
    assert [(forward.export, forward.listen.port) for forward in site.forwards] == [("array", 3260), ("second", 3261)]
    assert [(export.name, export.address.port) for export in site.exports] == [("array", 3260), ("second", 860)]
    assert (site.store.mode, site.store.size, site.status.listen.port) == ("memory", 1 << 30, 8999)
    assert site.status.history == Path("/var/lib/isthmus/east/history.db")


def test_forwards_of_one_export_are_numbered(isthmus: Isthmus, tmp_path: Path) -> None:
    ways = ("127.0.0.1:3261", "array-2=127.0.0.1:3262", "127.0.0.1:3263")
    shown = isthmus("init", *EAST, *(word for way in ways for word in ("--forward", way)), "--out", tmp_path)
    assert (shown.exit_code, shown.stderr) == (0, "")
    found = [(each.name, each.export) for each in load(tmp_path / "east.toml", files=False).forwards]
    assert found == [("array", "array"), ("array-2", "array"), ("array-2-2", "array-2"), ("array-3", "array")]


def test_every_value_has_a_comment(isthmus: Isthmus, tmp_path: Path) -> None:
    isthmus("init", *EAST, "--rate", "45Mbit", "--out", tmp_path)
    lines = (tmp_path / "east.toml").read_text().splitlines()
    assert all(lines[at - 1].startswith("# ") for at, line in enumerate(lines) if " = " in line and line[0] != "#")
    assert "likewise" not in " ".join(lines)  # the key before it may be left out
    assert not [line for line in lines if str(tmp_path) in line]


def test_all_mistakes_at_once(isthmus: Isthmus, tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").touch()
    wrong = ("--site", "a/b", "--peer", "west", "--listen", "198.18.0.1", "--forward", "x:1", "--store-size", "3")
    shown = isthmus("init", *wrong, "--reach", "nowhere", "--out", tmp_path)
    assert (shown.exit_code, shown.stdout) == (ExitCode.USAGE, "")
    for part in ("--site", "--listen", "--forward", "--store-size", "--reach", "compose.yaml exists already"):
        assert part in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["compose.yaml"]


NEW = "--site", "east", "--peer", "west", "--listen"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--peer", "west"), "--site is missing; name this site"),
        (("--site", "east"), "--peer is missing; name the other site"),
        (("--site", "east", "--peer", "EAST", "--listen", "127.0.0.1:1"), "is the name of this site itself"),
        (("--site", "east", "--peer", "west"), "--listen is missing; add --listen 198.18.0.1:4500, or say where"),
        ((*NEW, "0.0.0.0:4500"), "--reach is missing"),
        (
            (*NEW, "0.0.0.0:4500", "--reach", "0.0.0.0:4500"),
            "--reach '0.0.0.0:4500' stands for all addresses of a host",
        ),
        ((*NEW, "[::]:4500", "--reach", "[::]:4500"), "--reach '[::]:4500' stands for all addresses of a host"),
    ],
)
def test_mistakes_name_the_option(isthmus: Isthmus, tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    shown = isthmus("init", *flags, "--out", tmp_path)
    assert shown.exit_code == ExitCode.USAGE
    assert words in shown.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(NAMES))
def test_nothing_is_written_over(isthmus: Isthmus, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    shown = isthmus("init", *EAST, "--out", tmp_path)
    assert shown.exit_code == ExitCode.USAGE
    assert f"{name} exists already" in shown.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_a_place_that_cannot_be_written(isthmus: Isthmus, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    shown = isthmus("init", *EAST, "--out", tmp_path / "file")
    assert shown.exit_code == ExitCode.FAILED
    assert "choose another directory (--out)" in shown.stderr


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("there", ["", "new", "new/deep/state"])
def test_a_full_disk_keeps_nothing(isthmus: Isthmus, tmp_path: Path, there: str) -> None:
    """No empty directory either, but those that were there."""
    (tmp_path / there).mkdir(parents=True, exist_ok=True)
    before = sorted(tmp_path.rglob("*"))
    shown = isthmus("init", *EAST, "--out", tmp_path / "new" / "deep")
    assert (shown.exit_code, shown.stdout) == (ExitCode.FAILED, "")
    assert "No space left on device" in shown.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_ctrl_c_keeps_nothing(isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    assert isthmus("init", *EAST, "--out", tmp_path / "new").exit_code == ExitCode.INTERRUPTED
    assert not list(tmp_path.iterdir())


def test_where_nobody_can_answer_nothing_is_asked(isthmus: Isthmus, tmp_path: Path) -> None:
    shown = isthmus("init", "--out", tmp_path)
    assert shown.exit_code == ExitCode.USAGE
    assert "no terminal to ask at; give them" in shown.stderr


def test_the_questions(tmp_path: Path) -> None:
    answers = ["a b", "east", "", "east", "west", "4500", "0.0.0.0:4500", "[::]:4500", "198.18.0.1:4500"]
    shown, code = at_a_terminal([*answers, "127.0.0.1:3260", "none", "", "3", "1GiB"], "init", "--out", str(tmp_path))
    assert code == 0, shown
    # the name, the other's name twice, the address, the one to be dialled, the size
    assert shown.count("Error: ") == 6, shown
    assert "Error: an empty answer is not a name; write 1 to 63" in shown
    site = load(tmp_path / "east.toml", files=False)
    assert (site.site.name, site.peers[0].name, str(site.tunnel.listen)) == ("east", "west", "0.0.0.0:4500")
    assert (site.store.mode, site.store.size, len(site.forwards), site.exports) == ("disk", 1 << 30, 1, ())
    assert str(decode(line_of(shown)).address) == "198.18.0.1:4500"


@pytest.mark.parametrize(("host", "name"), [("east.example", "east"), ("669900ddd6eb", None), ("-", None)])
def test_the_hosts_name_is_offered_but_not_that_of_a_container(
    monkeypatch: pytest.MonkeyPatch, host: str, name: str | None
) -> None:
    """An engine makes such a name up, another one each time."""
    offered = list[str | None]()

    def prompt(question: str, default: str, **options: object) -> None:
        offered.append(default or None)
        raise click.Abort

    monkeypatch.setattr(platform, "node", lambda: host)
    monkeypatch.setattr(click, "prompt", prompt)
    with pytest.raises(click.Abort):
        ask()
    assert offered == [name]


def test_a_wrong_answer_is_told_with_the_remedy_and_costs_no_other_answer(tmp_path: Path) -> None:
    """Also one that is only wrong beside an earlier one, or too small: all answers were lost with it."""
    wrong = {
        "east/1": "is not a name; write 1 to 63",
        "EAST": "is the name of this site itself; write the other",
        "4500": "is not a host and a port; write an IP address of this host and a port, such as",
        "0.0.0.0:4501": "stands for all addresses of a host, and can be dialled by nobody; write host and port, such",
        "127.0.0.1:4500": "clashes with tunnel.listen (0.0.0.0:4500); give each listener",
        "127.0.0.1:3260": "is forward[0].listen of this site, which leads on to a peer; write the array's own address",
        "disc": "is not one of the possible values; write 'memory' or 'disk'",
        "1B": "is too small; write at least",
    }
    right = ["east", "west", "0.0.0.0:4500", "198.18.0.1:4500", "127.0.0.1:3260", "10.1.0.5:3260", "disk", "1GiB"]
    answers = [answer for pair in zip(wrong, right, strict=True) for answer in pair]
    shown, code = at_a_terminal(answers, "init", "--out", str(tmp_path))
    assert code == 0, shown
    for answer, words in wrong.items():
        assert f"Error: '{answer}' {words}" in shown
    assert shown.count("Error: ") == len(wrong)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [(b"\x04", "\nisthmus: nothing was written\n"), (b"\xff\neast\n\x04", "Error: '\ufffd' is not a name")],
    ids=["end of input", "what is no text"],
)
def test_questions_that_are_not_answered(tmp_path: Path, typed: bytes, shown: str) -> None:
    told, code = at_a_terminal(typed, "init", "--out", str(tmp_path), PYTHONIOENCODING="utf-8:strict")
    assert (code, list(tmp_path.iterdir())) == (ExitCode.INTERRUPTED, [])
    assert shown in told


def test_nothing_is_asked_where_files_are_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").touch()
    shown, code = at_a_terminal([], "init", "--out", str(tmp_path))
    assert (code, "Name of this site" in shown) == (ExitCode.USAGE, False)
    assert f"{tmp_path}/compose.yaml exists already; choose another directory" in shown


def test_the_questions_of_a_site_that_only_dials(tmp_path: Path) -> None:
    answers = ["west", "east", "none", "198.18.0.1:4500", "none", "10.1.0.5:3260", "memory", "1GiB"]
    shown, code = at_a_terminal(answers, "init", "--out", str(tmp_path))
    assert code == 0, shown
    site = load(tmp_path / "west.toml", files=False)
    assert (site.tunnel.listen, str(site.peers[0].address), site.store.mode) == (None, "198.18.0.1:4500", "memory")
    assert decode(line_of(shown)).address is None


def at_a_terminal(answers: list[str] | bytes, *arguments: str, **environment: str) -> tuple[str, int]:
    """What the program shows at a terminal of its own, where these lines are typed; its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
    )
    os.close(theirs)
    os.write(ours, answers if isinstance(answers, bytes) else "".join(f"{answer}\n" for answer in answers).encode())
    shown, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    return shown, process.returncode


@pytest.mark.parametrize(("uid", "user"), [(0, "10001:10001"), (1000, "1000:1000")])
def test_the_compose_file_is_the_one_of_deploy(
    isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, user: str
) -> None:
    """Whoever makes the site, it does not run as root there."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(os, "getgid", lambda: uid)
    shown = isthmus("init", *EAST, "--out", tmp_path)
    values = dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().splitlines() if "=" in line)
    assert values["ISTHMUS_SITE"] == "east"
    assert values["ISTHMUS_USER"] == user
    assert (f"first chown -R 10001:10001 {tmp_path}\n" in shown.stdout) == (uid == 0)
    text = (tmp_path / "compose.yaml").read_text()
    assert all(f"${{{name}" in text for name in values)


def test_root_is_not_told_to_give_others_files_away(
    isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as its own home, where the README's command is typed, or another site's key."""
    monkeypatch.setattr(os, "getuid", lambda: 0)
    (tmp_path / ".ssh").mkdir()
    shown = isthmus("init", *EAST, "--out", tmp_path).stdout
    assert "chown" not in shown
    owned = "that takes a directory of its own (--out), which 10001:10001 owns with all in it"
    assert f"whose user is 10001:10001: {owned}" in shown


def test_the_images_user_is_known() -> None:
    dockerfile = Path(__file__).parents[3] / "deploy" / "image" / "Dockerfile"
    assert f"\nUSER {IMAGE_USER}\n" in dockerfile.read_text()


def test_a_directory_whose_name_has_a_space(
    isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_port: Callable[[], int]
) -> None:
    """What is to be typed can be copied: with the path as it was, root's chown went for two other directories."""
    monkeypatch.setattr("os.getuid", lambda: 0)
    place = tmp_path / "my sites"
    quiet = "--status", f"127.0.0.1:{free_port()}"  # on the usual port a site of this host may listen
    shown = isthmus("init", "--site", "east", "--peer", "west=198.18.0.2:4500", *quiet, "--out", place).stdout
    assert f"first chown -R 10001:10001 '{place}'\n" in shown
    assert shown.endswith(f"3. isthmus serve '{place}/east.toml' (in a container: docker compose up -d)\n")
    isthmus("init", "--site", "west", "--peer", "east", "--listen", "198.18.0.2:4500", "--out", tmp_path / "west")
    line = isthmus("invite", tmp_path / "west" / "west.toml").stdout.split()[2]
    told = isthmus("pair", line, place / "east.toml").stdout
    serve, reload = (f"isthmus {each} '{place}/east.toml'" for each in ("serve", "reload"))
    assert f"Next: {serve}; if the site runs already, {reload}" in told
    assert f"is `isthmus serve '{place}/east.toml'` running?" in isthmus("status", place / "east.toml").stderr
    (place / "east.key").chmod(0o644)
    assert f"; chmod 600 '{place}/east.key'\n" in isthmus("check", place / "east.toml").stderr
