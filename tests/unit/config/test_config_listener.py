"""The status listener's keys: what protects it has to be there, sound, and for nobody else's eyes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from proxy.config.loading import load
from proxy.config.mistakes import ConfigError
from tests.certificates import make
from tests.patience import PATIENCE
from tests.unit.config.contract import EAST
from tests.unit.config.mistakes import one_mistake

LISTEN = 'listen = "127.0.0.1:8900"\n'
PUBLIC = 'listen = "0.0.0.0:8900"\n'
TLS = 'certificate = "listener.crt"\nkey = "listener.key"\n'
TOKEN = 'token = "reading"\n'


def site(directory: Path, keys: str) -> Path:
    """East's file with these keys in [status], and all files that any of them names."""
    for name in ("east", "west", "listener", "other"):
        make(directory / name, name)
    zeros = "\0" * 64  # as a power failure may leave them
    tokens = {"reading": "r" * 32, "short": "abc", "many": "two words of a token", "zeros": zeros, "long": "l" * 4097}
    for name, content in tokens.items():
        (directory / name).touch(0o600)
        (directory / name).write_text(content)
    (directory / "open").write_text("o" * 32)
    (directory / "open").chmod(0o644)
    path = directory / "east.toml"
    path.write_text(EAST.replace(LISTEN, keys))
    return path


@pytest.mark.parametrize(
    "keys",
    [
        LISTEN,
        LISTEN + TLS,
        LISTEN + TOKEN,
        PUBLIC + TLS + TOKEN,
        PUBLIC + TLS + 'clients = "west.crt"\n',
        PUBLIC + TLS + TOKEN + 'control_token = "reading"\nnames = ["East.example"]\nhistory = "h.db"\n',
    ],
)
def test_what_is_protected_is_fine(tmp_path: Path, keys: str) -> None:
    loaded = load(site(tmp_path, keys)).status
    assert loaded.names in ((), ("east.example",))
    assert loaded.history in (None, tmp_path / "h.db")


@pytest.mark.parametrize(
    ("keys", "key", "wrong", "remedy"),
    [
        (PUBLIC, "status.listen", "certificate, key, token or clients are missing", "ssh -L"),
        (PUBLIC + TLS, "status.listen", "token or clients is missing", "add them to [status]"),
        (PUBLIC + TOKEN, "status.listen", "certificate, key are missing", "add them"),
        (LISTEN + 'certificate = "listener.crt"\n', "status.key", "is missing", "add key"),
        (LISTEN + 'key = "listener.key"\n', "status.certificate", "is missing", "add certificate"),
        (LISTEN + 'clients = "west.crt"\n', "status.clients", "without TLS", "add certificate"),
        (LISTEN + TLS.replace("listener.key", "other.key"), "status.key", "does not belong", "name the key"),
        (LISTEN + TLS.replace("listener.key", "none.key"), "status.key", "does not exist", "path of a PEM file"),
        (LISTEN + 'token = "none"\n', "status.token", "does not exist", "openssl rand"),
        (LISTEN + 'token = "short"\n', "status.token", "16 or more", "openssl rand"),
        (LISTEN + 'token = "many"\n', "status.token", "16 or more", "openssl rand"),
        (LISTEN + 'token = "zeros"\n', "status.token", "16 or more", "openssl rand"),
        (LISTEN + 'token = "listener.key"\n', "status.token", "holds something else", "as status.token: (umask 077"),
        (LISTEN + 'token = "west.crt"\n', "status.token", "holds something else", "openssl rand -hex 32 > FILE)"),
        (LISTEN + 'token = "long"\n', "status.token", "holds something else", "openssl rand -hex 32 > FILE)"),
        (LISTEN + 'control_token = "open"\n', "status.control_token", "others than its owner", "chmod 600"),
        (LISTEN + TLS + 'clients = "reading"\n', "status.clients", "is not a certificate", "BEGIN CERTIFICATE"),
        (LISTEN + 'names = ["a b"]\n', "status.names[0]", "not the name of a host", "east.example"),
        (LISTEN + 'names = ["east:8900"]\n', "status.names[0]", "not the name of a host", "without port"),
    ],
)
def test_one_mistake(tmp_path: Path, keys: str, key: str, wrong: str, remedy: str) -> None:
    with one_mistake(key, wrong, remedy):
        load(site(tmp_path, keys))


def test_nobody_is_told_to_write_a_token_to_a_device(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(site(tmp_path, LISTEN + 'token = "/dev/zero"\n'))
    (mistake,) = caught.value.mistakes
    assert mistake.wrong == "is a character device, not a file (/dev/zero)"
    assert mistake.remedy == "name another file as status.token"


def test_what_is_missing_can_be_made_by_what_is_said(tmp_path: Path) -> None:
    """No command of ours makes a listener's certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("not installed: openssl (Debian: package openssl)")
    path = site(tmp_path, 'listen = "198.18.0.1:8900"\n' + TLS + TOKEN)
    (tmp_path / "listener.crt").unlink()
    with pytest.raises(ConfigError) as caught:
        load(path)
    (mistake,) = caught.value.mistakes
    assert (mistake.key, mistake.remedy.count("subjectAltName=IP:198.18.0.1")) == ("status.certificate", 1)
    subprocess.run(
        mistake.remedy.partition("make both: ")[2].split(), check=True, capture_output=True, timeout=PATIENCE
    )
    assert load(path).status.key == tmp_path / "listener.key"


def test_an_ended_certificate_is_said(tmp_path: Path) -> None:
    path = site(tmp_path, LISTEN + TLS)
    make(tmp_path / "listener", "listener", days=(-3, -1))
    with pytest.raises(ConfigError, match=r"has expired \(.*if the clock of this host is right \(20.*, have a new one"):
        load(path)


def test_a_key_that_others_may_read_is_said(tmp_path: Path) -> None:
    path = site(tmp_path, LISTEN + TLS)
    (tmp_path / "listener.key").chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        load(path)


def exporting(directory: Path, keys: str, export: str) -> Path:
    path = site(directory, keys)
    path.write_text(f'{path.read_text()}[[export]]\nname = "it"\n{export}\npeers = ["west"]\n')
    return path


FAR = 'address = "10.1.0.5:3260"\n'


@pytest.mark.parametrize(
    ("listen", "export", "key"),
    [
        ("127.0.0.1:8900", 'address = "127.0.0.1:8900"', "address"),
        ("127.0.0.1:8900", 'address = "0.0.0.0:8900"', "address"),
        ("127.0.0.1:8900", 'address = "[::ffff:127.0.0.1]:8900"', "address"),
        ("127.0.0.1:8900", 'address = "localhost:8900"', "address"),
        ("127.0.0.1:8900", FAR + 'range = "127.0.0.0/8:8900"', "range"),
        ("127.0.0.1:8900", FAR + 'range = "[::ffff:0:0/96]:8900"', "range"),
        ("[::1]:8900", 'address = "[::1]:8900"', "address"),
        ("[::1]:8900", 'address = "[::]:8900"', "address"),
        ("[::1]:8900", 'address = "[::1%lo]:8900"', "address"),
        ("[::1]:3260", FAR + 'range = "::/64"', "range"),
    ],
)
def test_peers_do_not_reach_an_open_status(tmp_path: Path, listen: str, export: str, key: str) -> None:
    keys = f'listen = "{listen}"\n'
    for lacking, more in (
        ("status.token and status.control_token", ""),
        ("status.control_token", TOKEN),
        ("status.control_token", TLS + 'clients = "west.crt"\n'),
        ("status.token", 'control_token = "reading"\n'),
    ):
        with pytest.raises(ConfigError) as caught:
            load(exporting(tmp_path, keys + more, export))
        (mistake,) = caught.value.mistakes
        assert mistake.key == f"export[0].{key}"
        assert mistake.wrong == f"leads peers to status.listen of this site ({listen}), which asks them for no password"
        assert mistake.remedy == f"add {lacking}, or name the array's address"
    load(exporting(tmp_path, f'{keys}{TOKEN}control_token = "reading"\n', export))


@pytest.mark.parametrize(
    ("listen", "export"),
    [
        ("127.0.0.1:8900", 'address = "127.0.0.1:8901"'),
        ("127.0.0.1:8900", 'address = "127.0.0.2:8900"'),
        ("127.0.0.1:8900", 'address = "[::1]:8900"'),
        ("127.0.0.1:8900", FAR + 'range = "127.0.0.0/8:3261"'),
        ("[::1]:8900", 'address = "10.1.0.5:8900"'),
    ],
)
def test_other_exports_ask_for_nothing(tmp_path: Path, listen: str, export: str) -> None:
    load(exporting(tmp_path, f'listen = "{listen}"\n', export))
