"""`isthmus support-bundle`: what is in it, what never is, and that it is made whatever is broken."""

import errno
import json
import os
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from proxy.cli.secrets import REMOVED, Secrets
from proxy.errors import ExitCode
from tests.patience import until
from tests.stand_ins import path_with, stand_in
from tests.unit.cli.conftest import Isthmus, StatusSite, change
from tests.unit.cli.statuses import STATUS

TOKEN = "0123456789abcdef-token"


def parts(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        found = {}
        for member in archive.getmembers():
            file = archive.extractfile(member)
            assert file is not None
            found[member.name.partition("/")[2]] = file.read()
        return found


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "bundle.tar.gz"


@pytest.fixture(autouse=True)
def quick(pair: Path) -> None:
    """Doctor reaches for addresses that answer or refuse at once."""
    for name in ("east", "west"):
        file = pair / f"{name}.toml"
        text = file.read_text().replace("198.18.0.2:4500", "127.0.0.1:9").replace("10.1.0.5:3260", "127.0.0.1:9")
        file.write_text(text)


def test_of_a_running_site(isthmus: Isthmus, pair: Path, east: StatusSite, bundle: Path) -> None:
    east.answers(STATUS)
    shown = isthmus("support-bundle", pair / "east.toml", "-o", bundle)
    assert shown.exit_code == 0, shown.stderr
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600
    found = parts(bundle)
    assert json.loads(found["status.json"]) == STATUS
    wanted = {"contents.txt", "configuration.toml", "versions.txt", "certificates.txt", "doctor.json", "metrics.txt"}
    wanted |= {"health.json", "warnings.json", "store.json", "streams.json", "events.json", "history-30d.json"}
    assert wanted <= set(found)
    assert found["configuration.toml"] == (pair / "east.toml").read_bytes()
    assert json.loads(found["doctor.json"])["site"] == "east"
    assert b"pydantic " in found["versions.txt"]


def test_of_a_site_whose_path_is_no_text(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    """It went without the certificates, for words of an encoding."""
    place = bundle.with_name(os.fsdecode(b"p\xffir"))
    place.mkdir()
    for file in pair.glob("*.*"):
        file.rename(place / file.name)
    isthmus("support-bundle", place / "east.toml", "-o", bundle)
    assert rb"p\udcffir/west.crt: west, " in parts(bundle)["certificates.txt"]


def test_of_a_site_of_an_earlier_version(isthmus: Isthmus, pair: Path, east: StatusSite, bundle: Path) -> None:
    """It refuses to give more than 1,000 events at once: then it is asked for so many."""
    east.answers(STATUS)
    east.most = 1000
    isthmus("support-bundle", pair / "east.toml", "-o", bundle)
    found = parts(bundle)
    assert json.loads(found["events.json"]) == STATUS
    assert b"events.json: missing" not in found["contents.txt"]


def test_nothing_secret_is_in_it(isthmus: Isthmus, pair: Path, east: StatusSite, bundle: Path) -> None:
    """Not even where a log, a comment or the site itself repeats it."""
    key = (pair / "east.key").read_text()
    (pair / "token").write_text(TOKEN)
    (pair / "token").chmod(0o600)
    file = pair / "east.toml"
    comment = "".join(f"# {line}\n" for line in key.splitlines())
    change(file, "[status]\n", f'# {TOKEN}\n{comment}[status]\ncontrol_token = "token"\n')
    east.answers(STATUS | {"alarms": [key, TOKEN]})
    isthmus("support-bundle", file, "-o", bundle)
    found = parts(bundle)
    assert "control_token" in found["configuration.toml"].decode()
    for content in found.values():
        assert b"PRIVATE KEY" not in content
        assert TOKEN.encode() not in content
        assert not [line for line in key.splitlines() if "-----" not in line and line.encode() in content]


def test_of_a_site_that_is_down(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    shown = isthmus("support-bundle", pair / "east.toml", "-o", bundle)
    assert shown.exit_code == 0
    found = parts(bundle)
    assert {"configuration.toml", "doctor.json", "versions.txt"} <= set(found)
    assert "status.json: missing: no status of site east" in found["contents.txt"].decode()
    assert "status.json: missing: no status of site east" in shown.stdout
    assert f"events.json: missing: {pair / 'east-history.db'}: No such file or directory" in shown.stdout


def test_of_a_site_whose_history_is_no_history(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    """It was told in the words of a database: DatabaseError."""
    (kept := pair / "east-history.db").write_bytes(b"accounts")
    shown = isthmus("support-bundle", pair / "east.toml", "-o", bundle)
    words = f"{kept} holds something else than the history of a site, and is left as it is: see status.history"
    assert f"events.json: missing: {words}\n" in shown.stdout


def test_of_a_disk_that_gives_an_error(
    isthmus: Isthmus, pair: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it reads, no file is named any more. What only a defect can raise is told as one."""

    def fail(path: Path, most: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def err() -> str:
        raise KeyError("none")

    monkeypatch.setattr("proxy.cli.support_bundle.read", fail)
    monkeypatch.setattr("platform.platform", err)
    shown = isthmus("support-bundle", pair / "east.toml", "-o", bundle).stdout
    assert "configuration.toml: missing: Input/output error\n" in shown
    assert "versions.txt: missing: KeyError: 'none' (a defect of Isthmus: please report it)\n" in shown


def test_where_the_log_may_be_is_said_if_it_is_not_found(
    isthmus: Isthmus, pair: Path, east: StatusSite, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container; that a sound file has no mistakes was said to be missing as well."""
    monkeypatch.setenv("PATH", "")
    east.answers(STATUS)
    shown = isthmus("support-bundle", pair / "east.toml", "-o", bundle)
    missing = [line.strip() for line in shown.stdout.splitlines() if ": missing: " in line]
    assert missing == ["the log: missing: no file and no journal has it; send it, too (docker compose logs)"]
    assert b"mistakes.txt: there is none\n" in parts(bundle)["contents.txt"]


def test_of_a_site_whose_listener_cannot_be_known(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    """Its certificate is missing: that is what the bundle is to tell, and costs nothing but the site's answers."""
    file = pair / "east.toml"
    change(file, "[status]\n", '[status]\ncertificate = "none.crt"\nkey = "east.key"\n')
    assert isthmus("support-bundle", file, "-o", bundle).exit_code == 0
    found = parts(bundle)
    assert f"status.json: missing: {pair / 'none.crt'} does not exist" in found["contents.txt"].decode()
    assert b"none.crt" in found["mistakes.txt"]
    assert {"configuration.toml", "doctor.json", "versions.txt"} <= set(found)


def test_of_a_file_with_mistakes(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    (pair / "east.toml").write_text("[site]\nname = 1\n")
    assert isthmus("support-bundle", pair / "east.toml", "-o", bundle).exit_code == 0
    found = parts(bundle)
    assert found["configuration.toml"] == b"[site]\nname = 1\n"
    assert b"is not text in quotes" in found["mistakes.txt"]


@pytest.mark.parametrize(
    "content",
    [
        TOKEN,
        f"{TOKEN}\n",
        "q83vASNFZ4mrze8BI0VniQ==\n",
        f"-----BEGIN CERTIFICATE-----\n{TOKEN}==\n-----END CERTIFICATE-----\n",
        f"key = {TOKEN}\n".encode("utf-16").decode("latin-1"),
    ],
)
def test_of_a_token_by_mistake(isthmus: Isthmus, tmp_path: Path, bundle: Path, content: str) -> None:
    """Completion offers it beside the site's file: it is no configuration, and what it is nobody knows."""
    file = tmp_path / "east.token"
    file.write_text(content, "latin-1")
    shown = isthmus("support-bundle", file, "-o", bundle)
    assert shown.exit_code == 0
    assert "configuration.toml: missing: " in shown.stdout
    assert f"{file} has no [section] and no `key = value`: it may be a key, a certificate or a token" in shown.stdout
    found = parts(bundle)
    assert "configuration.toml" not in found
    assert not [part for part, held in found.items() if content.strip().encode("latin-1") in held]


@pytest.mark.parametrize(
    "content",
    [
        "[site\nname = ",
        "[site]",
        "  [[ peer ]]",
        "nmae=east\n",
        "\ufeff[site]\nname = east",
        "# none\n'site'.name='",
        "",
    ],
)
def test_of_a_file_that_is_broken(isthmus: Isthmus, pair: Path, bundle: Path, content: str) -> None:
    (pair / "east.toml").write_text(content)
    assert isthmus("support-bundle", pair / "east.toml", "-o", bundle).exit_code == 0
    assert parts(bundle)["configuration.toml"] == content.encode()


def test_of_no_file(isthmus: Isthmus, tmp_path: Path, bundle: Path) -> None:
    """It was mistyped: an empty bundle would help nobody."""
    shown = isthmus("support-bundle", tmp_path / "none.toml", "-o", bundle)
    assert (shown.exit_code, shown.stdout) == (ExitCode.CONFIGURATION, "")
    assert shown.stderr == f"isthmus: {tmp_path / 'none.toml'} does not exist; give the path of a site's file\n"
    assert not bundle.exists()


@pytest.mark.parametrize("path", ["/dev/zero", "pipe", "."])
def test_of_what_is_no_file(isthmus: Isthmus, tmp_path: Path, bundle: Path, path: str) -> None:
    """It would wait for a pipe for ever, and fill the memory with what a device gives."""
    os.mkfifo(tmp_path / "pipe")
    shown = isthmus("support-bundle", tmp_path / path, "-o", bundle)
    assert (shown.exit_code, shown.stdout) == (ExitCode.CONFIGURATION, "")
    assert shown.stderr.endswith(", not a file; give the path of a site's file\n")
    assert not bundle.exists()


def test_of_a_large_file(isthmus: Isthmus, tmp_path: Path, bundle: Path) -> None:
    """Such as the image of a disk: no more of it is read than a site's file may have."""
    (tmp_path / "image").write_bytes(b"[site]\n" + bytes(2 << 20))
    assert isthmus("support-bundle", tmp_path / "image", "-o", bundle).exit_code == 0
    found = parts(bundle)
    assert len(found["configuration.toml"]) == 1 << 20
    assert b"is larger than 1 MiB" in found["mistakes.txt"]


def test_a_pipe_that_is_named_as_a_key_is_not_waited_for(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    (pair / "east.key").unlink()
    os.mkfifo(pair / "east.key")
    assert isthmus("support-bundle", pair / "east.toml", "-o", bundle).exit_code == 0
    assert b"is a pipe, not a file" in parts(bundle)["mistakes.txt"]


def test_nothing_is_written_over(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    bundle.write_text("mine")
    shown = isthmus("support-bundle", pair / "east.toml", "-o", bundle)
    assert shown.exit_code == ExitCode.FAILED
    assert "File exists; name another file with -o" in shown.stderr
    assert bundle.read_text() == "mine"


def test_the_log_of_a_process_is_found(isthmus: Isthmus, pair: Path, bundle: Path) -> None:
    """Wherever its stderr goes, if that is a file."""
    program = "import sys, time; print('the log', file=sys.stderr, flush=True); time.sleep(300)"
    with (pair / "some.log").open("wb") as log:
        command = [sys.executable, "-c", program, "serve", "east.toml"]
        process = subprocess.Popen(command, cwd=pair, stderr=log)
    try:
        until(lambda: (pair / "some.log").stat().st_size > 0)
        isthmus("support-bundle", pair / "east.toml", "-o", bundle)
        assert parts(bundle)["log.txt"] == b"the log\n"
        assert b"the log: missing" not in parts(bundle)["contents.txt"]
    finally:
        process.kill()
        process.wait()


@pytest.mark.root
def test_no_file_that_another_user_only_points_at_is_taken_for_the_log(
    isthmus: Isthmus, pair: Path, bundle: Path
) -> None:
    """Anybody may call a process like the site's, with any path for its stderr: root could read what it may not."""
    secret = pair / "secret"
    secret.touch(0o600)
    secret.write_text("of root alone")
    program = (
        "import os, sys; os.setresuid(65534, 65534, 65534); os.dup2(os.open(sys.argv[1], os.O_PATH), 2)\n"
        "os.execv('/bin/sh', ['sh', '-c', 'echo; read end', 'serve', sys.argv[2]])"
    )
    for place in (pair, *pair.parents[:3]):
        place.chmod(0o755)
    command = [sys.executable, "-c", program, str(secret), str(pair / "east.toml")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        isthmus("support-bundle", pair / "east.toml", "-o", bundle)
        process.communicate(b"\n")
    found = parts(bundle)
    assert "log.txt" not in found
    assert not [part for part, content in found.items() if b"of root alone" in content]


@pytest.mark.parametrize("content", ["", "[site\n"])
def test_the_journal_is_that_of_the_unit_that_runs_the_file(
    isthmus: Isthmus, pair: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """isthmus@a runs a.toml, whatever site that is; and above all one that cannot be read, so that it does not run."""
    (programs := pair / "bin").mkdir()
    stand_in(programs, "journalctl", 'echo "of $2"')
    monkeypatch.setenv("PATH", path_with(programs))
    (pair / "a.toml").write_text(content or (pair / "east.toml").read_text())
    assert isthmus("support-bundle", pair / "a.toml", "-o", bundle).exit_code == 0
    assert parts(bundle)["journal.txt"] == b"of isthmus@a.service\n"


def test_secrets_of_all_lengths(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("a-secret-token\n")
    (tmp_path / "longer").write_text("a-secret-token-and-more\n")
    (tmp_path / "short").write_text("is\n")
    secrets = Secrets(b'token="long"\ncontrol_token="longer"\nkey="short"\nother.key="none"', tmp_path)
    assert secrets.removed(b"this is a-secret-token-and-more.") == b"this is " + REMOVED + b"."


@pytest.mark.parametrize(
    "line",
    [
        'token = "{}"',
        "control_token='{}'",
        "key = {}",
        'api-token = "{}',
        "'token' = [ '{}' ]",
        "# token = [{}]",
        'key = """\n{}"""',
        r'token.of.it = "x\"{}"',
    ],
)
def test_a_secret_in_place_of_its_files_path(isthmus: Isthmus, pair: Path, bundle: Path, line: str) -> None:
    """However wrong the file is otherwise, and whoever repeats it."""
    file = pair / "east.toml"
    change(file, "[status]\n", f"[status]\n{line.replace('{}', TOKEN)}\n")
    assert isthmus("support-bundle", file, "-o", bundle).exit_code == 0
    found = parts(bundle)
    assert b"[status]" in found["configuration.toml"]
    assert not [part for part, content in found.items() if TOKEN.encode() in content]


def test_a_long_secret_that_was_cut(tmp_path: Path) -> None:
    """A mistake shows the beginning of a value, of which there may be more."""
    token = "0123456789abcdef" * 8
    secrets = Secrets(f'token = "{token}"'.encode(), tmp_path)
    assert secrets.removed(f'token = "{token[:78]}…; add'.encode()) == b'token = "' + REMOVED + b"; add"


def test_a_path_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a-directory").mkdir()
    assert Secrets(b'key = "a-directory"', tmp_path).removed(b"a-directory") == b"a-directory"


def test_of_a_host_whose_clock_is_far_ahead(
    isthmus: Isthmus, pair: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a start with a broken hardware clock; gzip knows no time after 2106."""
    monkeypatch.setattr(time, "time", lambda: 2.0**32)
    shown = isthmus("support-bundle", pair / "east.toml", "-o", bundle)
    assert shown.exit_code == 0, shown.stderr
    assert "configuration.toml" in parts(bundle)
