"""`isthmus keygen` and `isthmus check`, from nothing to a pair that is right."""

import re
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from proxy import identity
from proxy.errors import ExitCode
from tests.certificates import make
from tests.unit.cli.conftest import PROGRAM, Isthmus, change
from tests.unit.config.contract import EAST, WEST


def test_a_pair_from_nothing(isthmus: Isthmus, tmp_path: Path) -> None:
    for site, text in (("east", EAST), ("west", WEST)):
        assert isthmus("keygen", "--site", site, "--out", tmp_path).exit_code == 0
        (tmp_path / f"{site}.toml").write_text(text)
    for site in ("east", "west"):
        shown = isthmus("check", tmp_path / f"{site}.toml")
        assert (shown.exit_code, shown.stderr) == (0, "")


def test_what_is_missing_is_made_as_check_says(isthmus: Isthmus, pair: Path) -> None:
    for name in ("east.crt", "east.key"):
        (pair / name).unlink()
    shown = isthmus("check", pair / "east.toml").stderr
    (remedy,) = set(re.findall(r"; make certificate and key: isthmus (.+), or name", shown))
    assert isthmus(*shlex.split(remedy)).exit_code == 0
    assert isthmus("check", pair / "east.toml").exit_code == 0


def test_keygen_says_what_it_made(isthmus: Isthmus, tmp_path: Path) -> None:
    shown = isthmus("keygen", "--site", "east", "--out", tmp_path / "new")
    assert shown.exit_code == 0
    fingerprint = identity.show_fingerprint(identity.fingerprint(tmp_path / "new" / "east.crt"))
    assert f"SHA-256      {fingerprint}\n" in shown.stdout
    assert f"{tmp_path}/new/east.key" in shown.stdout
    assert f"{tmp_path}/new/east.crt" in shown.stdout


def test_keygen_overwrites_only_when_forced(isthmus: Isthmus, tmp_path: Path) -> None:
    keygen = ("keygen", "--site", "east", "--out", tmp_path)
    first = isthmus(*keygen).stdout
    refused = isthmus(*keygen)
    assert refused.exit_code == ExitCode.FAILED
    assert re.fullmatch(r"isthmus: \S+/east.key exists already; .*--force.*\n", refused.stderr)
    forced = isthmus(*keygen, "--force")
    assert forced.exit_code == 0
    assert forced.stdout != first


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x", "a b", "ümlaut", "x" * 64])
def test_keygen_refuses_names_that_no_file_could_give(isthmus: Isthmus, tmp_path: Path, name: str) -> None:
    shown = isthmus("keygen", f"--site={name}", "--out", tmp_path)
    assert shown.exit_code == ExitCode.USAGE
    assert "is not a name; write 1 to 63 letters" in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_check_says_how_the_status_listener_is_asked(isthmus: Isthmus, pair: Path) -> None:
    file = pair / "east.toml"
    assert re.search(r"status   http://127\.0\.0\.1:\d+\n", isthmus("check", file).stdout)
    make(pair / "listener", "listener")
    tls = '[status]\ncertificate = "listener.crt"\nkey = "listener.key"'
    change(file, "[status]", tls)
    assert re.search(r"status   https://127\.0\.0\.1:\d+\n", isthmus("check", file).stdout)


def test_check_says_what_forwards_stand_for_and_exports_reach(isthmus: Isthmus, pair: Path) -> None:
    for name, more in (("east", 'portal = "10.1.0.5:3260"\nports = "3261-3276"\n'), ("west", "")):
        file = pair / f"{name}.toml"
        file.write_text(file.read_text() + more + 'range = "10.1.0.0/24:860"\n')
    forward = "to array at west; stands for 10.1.0.5:3260; on demand 10.1.0.0/24:860 on ports 3261-3276\n"
    assert forward in isthmus("check", pair / "east.toml").stdout
    assert "array: 10.1.0.5:3260 and 10.1.0.0/24:860 for east\n" in isthmus("check", pair / "west.toml").stdout


def test_check_finds_an_export_that_leads_back_to_this_host(
    isthmus: Isthmus, pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or `isthmus check && systemctl restart` would leave the site down."""
    file = pair / "east.toml"
    own = '\n[[export]]\nname = "own"\naddress = "198.18.0.1:3260"\npeers = ["west"]\n'
    text = re.sub(r"198\.18\.0\.1:4500", "0.0.0.0:4500", file.read_text())
    file.write_text(re.sub(r'listen = "127\.0\.0\.1:3260"', 'listen = "0.0.0.0:3260"', text) + own)
    assert isthmus("check", file).exit_code == 0
    monkeypatch.setattr("proxy.net.loops.reserve", lambda address: socket.socket())
    shown = isthmus("check", file)
    assert (shown.exit_code, shown.stdout) == (ExitCode.CONFIGURATION, "")
    assert "export 'own' address = 198.18.0.1:3260 is this host itself" in shown.stderr


def test_check_says_what_the_site_would_do(isthmus: Isthmus, pair: Path) -> None:
    shown = isthmus("check", pair / "east.toml").stdout
    fingerprint = identity.show_fingerprint(identity.fingerprint(pair / "west.crt"))
    assert f"{pair}/east.toml is valid." in shown
    assert "listens on 198.18.0.1:4500" in shown
    assert f"west: dialled at 198.18.0.2:4500, certificate {fingerprint}" in shown
    assert "replication: 127.0.0.1:3260 to array at west\n" in shown
    assert "memory, 2GiB" in shown
    shown = isthmus("check", pair / "west.toml").stdout
    assert "east: waited for" in shown
    assert "array: 10.1.0.5:3260 for east" in shown
    assert f"disk, 10GiB in {pair}/store" in shown


def test_check_lists_all_mistakes(isthmus: Isthmus, pair: Path) -> None:
    (pair / "east.toml").write_text(EAST.replace("2GiB", "2").replace('peer = "west"', 'peer = "wst"'))
    shown = isthmus("check", pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.CONFIGURATION, "")
    assert shown.stderr.startswith(f"isthmus: {pair}/east.toml: 2 mistakes\n")
    assert '  store.size = "2"\n    is not a size; ' in shown.stderr
    assert '  forward[0].peer = "wst"\n    is not the name of a peer; did you mean "west"?' in shown.stderr


def test_check_of_a_peer_whose_name_is_missing(isthmus: Isthmus, pair: Path) -> None:
    """No name can have been meant: it said "there is none yet (or add a [[peer]])"."""
    (pair / "east.toml").write_text(EAST.replace('name = "west"', 'nam = "west"'))
    shown = isthmus("check", pair / "east.toml").stderr
    assert '  forward[0].peer = "west"\n    is not the name of a peer; add a [[peer]] of that name\n' in shown


def test_check_of_a_file_that_is_missing(isthmus: Isthmus, tmp_path: Path) -> None:
    shown = isthmus("check", tmp_path / "none.toml")
    assert shown.exit_code == ExitCode.CONFIGURATION
    assert "none.toml: 1 mistake\n  cannot be read: No such file or directory; give the path" in shown.stderr


@pytest.mark.parametrize(("days", "left"), [(8, "7 days"), (0.9, "21 h")])
def test_check_warns_of_certificates_that_end_soon(isthmus: Isthmus, pair: Path, days: float, left: str) -> None:
    make(pair / "west", "west", days=(-1, days))
    shown = isthmus("check", pair / "east.toml")
    assert shown.exit_code == 0
    assert shown.stderr == f"warning: {pair}/west.crt expires in {left}; make a new one and give it to both sites\n"


def test_check_warns_of_peers_and_cas_whose_certificates_are_not_valid(isthmus: Isthmus, pair: Path) -> None:
    """A clock that is wrong makes all of them so: it is asked about first, as where the site's own has expired."""
    make(pair / "west", "west", days=(-9, -1))
    make(pair / "ca", "Our CA", authority=True, purposes=(), days=(1, 8))
    (pair / "east.toml").write_text(EAST.replace('key = "east.key"', 'key = "east.key"\nca = "ca.crt"'))
    shown = isthmus("check", pair / "east.toml")
    assert shown.exit_code == 0
    assert f"warning: {pair}/west.crt (west) has expired (" in shown.stderr
    assert "and who shows it is refused; if the clock of this host is right (20" in shown.stderr
    assert " UTC), make a new one and give it to both sites" in shown.stderr
    assert f"warning: {pair}/ca.crt (Our CA) is not valid before " in shown.stderr
    assert "; see whether the clocks of both hosts are right (here 20" in shown.stderr


def test_check_warns_of_a_pinned_certificate_for_another_name(isthmus: Isthmus, pair: Path) -> None:
    """The running site says so, too: no tunnel comes up if that is the other site's name."""
    make(pair / "west", "nord", days=(-1, 100))
    shown = isthmus("check", pair / "east.toml")
    assert shown.exit_code == 0
    assert shown.stderr == (
        f"warning: {pair}/west.crt: it is for nord: if that site is not called west, no tunnel to it comes up; have"
        " peer.name here be the site.name there\n"
    )


def test_check_warns_of_a_certificate_for_another_name(isthmus: Isthmus, pair: Path) -> None:
    signer = make(pair / "ca", "Our CA", authority=True, purposes=(), days=(-1, 100))
    make(pair / "east", "elsewhere", signer=signer, days=(-1, 100))
    (pair / "east.toml").write_text(EAST.replace('key = "east.key"', 'key = "east.key"\nca = "ca.crt"'))
    shown = isthmus("check", pair / "east.toml")
    assert shown.exit_code == 0
    assert "warning: the certificate is not for the name east" in shown.stderr


def test_the_real_program(pair: Path) -> None:
    right = subprocess.run([*PROGRAM, "check", str(pair / "east.toml")], capture_output=True, text=True, check=False)
    assert (right.returncode, right.stderr) == (0, "")
    (pair / "east.key").chmod(0o644)
    wrong = subprocess.run([*PROGRAM, "check", str(pair / "east.toml")], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (ExitCode.CONFIGURATION, "")
    assert f"chmod 600 {pair}/east.key" in wrong.stderr
