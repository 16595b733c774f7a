"""`isthmus pair` and `isthmus invite`: one line each way, and what does not fit changes nothing."""

import errno
import os
import re
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proxy import identity
from proxy.config.addresses import parse_address
from proxy.config.loading import load
from proxy.errors import ExitCode
from proxy.setup.invitation import Invitation, decode, encode
from tests.certificates import make
from tests.nobody import directory_of_nobody
from tests.unit.cli.conftest import Isthmus, change, line_of


def new_hosts(isthmus: Isthmus, path: Path) -> dict[str, str]:
    """Two hosts, that is, directories, each with a new site; the lines that were printed there."""
    ways = {"east": ("--forward", "127.0.0.1:3260"), "west": ("--export", "10.1.0.5:3260")}
    lines = {}
    for number, (site, way) in enumerate(ways.items(), start=1):
        (peer,) = ways.keys() - {site}
        listen = f"198.18.0.{number}:4500"
        shown = isthmus("init", "--site", site, "--peer", peer, "--listen", listen, *way, "--out", path / site)
        lines[site] = line_of(shown.stdout)
    return lines


@pytest.fixture
def hosts(isthmus: Isthmus, tmp_path: Path) -> dict[str, str]:
    return new_hosts(isthmus, tmp_path)


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_one_line_each_way(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    for site, other in (("east", "west"), ("west", "east")):
        file = tmp_path / site / f"{site}.toml"
        before = isthmus("check", file)
        assert before.exit_code == ExitCode.CONFIGURATION
        assert "isthmus pair" in before.stderr
        shown = isthmus("pair", hosts[other], file)
        assert (shown.exit_code, shown.stderr) == (0, "")
        fingerprint = identity.fingerprint(tmp_path / other / f"{other}.crt")
        assert identity.show_fingerprint(fingerprint) in shown.stdout
        assert identity.fingerprint(tmp_path / site / f"{other}.crt") == fingerprint
        assert isthmus("check", file).exit_code == 0
    assert str(load(tmp_path / "east" / "east.toml").peers[0].address) == "198.18.0.2:4500"


def test_again_changes_nothing(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    isthmus("pair", hosts["west"], tmp_path / "east" / "east.toml")
    before = content(tmp_path / "east")
    shown = isthmus("pair", hosts["west"], tmp_path / "east" / "east.toml")
    assert shown.exit_code == 0
    assert "nothing was changed" in shown.stdout
    assert content(tmp_path / "east") == before


def test_the_file_keeps_its_comments_mode_and_link(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    file = tmp_path / "east" / "east.toml"
    file.write_text("# by hand\n" + file.read_text())
    file.chmod(0o640)
    (tmp_path / "link.toml").symlink_to(file)
    assert isthmus("pair", hosts["west"], tmp_path / "link.toml").exit_code == 0
    assert (tmp_path / "link.toml").is_symlink()
    assert file.read_text().startswith("# by hand\n")
    assert file.stat().st_mode & 0o777 == 0o640
    assert "west.crt" in content(tmp_path / "east")


def test_a_third_site(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    """A table is added; that the second is not paired yet is said, and no obstacle."""
    north = isthmus("init", "--site", "north", "--peer", "west", "--listen", "[::1]:4500", "--out", tmp_path / "north")
    file = tmp_path / "west" / "west.toml"
    shown = isthmus("pair", line_of(north.stdout), file)
    assert shown.exit_code == 0
    assert 'still to be put right: peer[0].certificate = "east.crt"' in shown.stderr
    assert isthmus("pair", hosts["east"], file).stderr == ""
    assert [peer.name for peer in load(file).peers] == ["east", "north"]


@pytest.mark.parametrize("command", ["pair", "isthmus pair", "pair isthmus pair", "isthmus pair isthmus pair"])
def test_the_whole_command_may_be_typed_behind_pair(
    isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str], command: str
) -> None:
    """As who pastes it behind `docker run IMAGE pair` does; it may also have been broken in two on its way."""
    line = hosts["west"]
    shown = isthmus(*command.split(), line[:40], line[40:], tmp_path / "east" / "east.toml")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "west.crt" in content(tmp_path / "east")


@pytest.mark.parametrize("quoted", [False, True])
def test_a_line_without_a_file(isthmus: Isthmus, hosts: dict[str, str], quoted: bool) -> None:
    shown = isthmus("pair", f"isthmus pair {hosts['west']} east.toml" if quoted else hosts["west"])
    assert shown.exit_code == ExitCode.USAGE
    assert "type the line, and behind it the path of this site's file" in shown.stderr


def test_a_file_before_the_line(isthmus: Isthmus, hosts: dict[str, str]) -> None:
    shown = isthmus("pair", "east.toml", hosts["west"])
    assert shown.exit_code == ExitCode.USAGE
    assert "and behind it this site's file" in shown.stderr


@pytest.mark.usefixtures("hosts")
def test_a_site_that_only_dials(isthmus: Isthmus, tmp_path: Path) -> None:
    shown = isthmus("init", "--site", "east", "--peer", "west=198.18.0.2:4500", "--out", tmp_path / "behind")
    file = tmp_path / "west" / "west.toml"
    assert "waited for" in isthmus("pair", line_of(shown.stdout), file).stdout
    assert load(file).peers[0].address is None


def test_another_certificate_or_address_needs_a_word(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    file = tmp_path / "east" / "east.toml"
    isthmus("pair", hosts["west"], file)
    before = content(tmp_path / "east")
    moved = encode(Invitation("west", parse_address("198.18.0.9:4500"), decode(hosts["west"]).certificate))
    isthmus("keygen", "--site", "west", "--out", tmp_path / "west", "--force")
    renewed = line_of(isthmus("invite", tmp_path / "west" / "west.toml").stdout)
    for line, words in ((moved, "198.18.0.9:4500"), (renewed, "its certificate is not the one in")):
        shown = isthmus("pair", line, file)
        assert shown.exit_code == ExitCode.FAILED
        assert words in shown.stderr
        assert "--replace" in shown.stderr
        assert content(tmp_path / "east") == before
        replaced = isthmus("pair", line, file, "--replace")
        assert replaced.exit_code == 0
        next_step = f"Next: isthmus serve {file}; if the site runs already, isthmus reload {file}"
        assert next_step in replaced.stdout
        assert isthmus("check", file).exit_code == 0
        isthmus("pair", hosts["west"], file, "--replace")
        assert content(tmp_path / "east") == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda sound: b"",
        lambda sound: b"-----BEGIN CERTIFICATE-----\nMIIB",
        lambda sound: b"\0" * 4096,
        lambda sound: b"  " + sound,
        lambda sound: sound + sound[:200],
    ],
    ids=["empty", "cut", "zeros", "indented", "a second one that is cut"],
)
def test_a_certificate_that_was_damaged_is_replaced(
    isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str], damage: Callable[[bytes], bytes]
) -> None:
    """By the same line, which --replace asks for; and where that cannot be, what was there is there again."""
    file, pin = tmp_path / "east" / "east.toml", tmp_path / "east" / "west.crt"
    isthmus("pair", hosts["west"], file)
    sound = pin.read_bytes()
    damaged = damage(sound)
    pin.write_bytes(damaged)
    shown = isthmus("pair", hosts["west"], file)
    assert shown.exit_code == ExitCode.FAILED
    assert f"{pin}, where its certificate belongs, holds none that can be used; if that file was" in shown.stderr
    ours = encode(Invitation("west", None, of(tmp_path / "east" / "east", "west", (-1, 100))))
    assert isthmus("pair", ours, file, "--replace").exit_code == ExitCode.CONFIGURATION
    assert pin.read_bytes() == damaged
    assert isthmus("pair", hosts["west"], file, "--replace").exit_code == 0
    assert pin.read_bytes() == sound


def test_a_key_is_not_replaced(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    pin = tmp_path / "east" / "west.crt"
    pin.write_bytes((tmp_path / "west" / "west.key").read_bytes())
    before = content(tmp_path / "east")
    shown = isthmus("pair", hosts["west"], tmp_path / "east" / "east.toml", "--replace")
    assert "holds a private key, not a certificate" in shown.stderr
    assert content(tmp_path / "east") == before


def altered(line: str, **changes: object) -> str:
    """The line of west with another name, address or certificate, and a sum that is right."""
    told = decode(line)
    values = {"name": told.name, "address": told.address, "certificate": told.certificate} | changes
    return encode(Invitation(**values))  # type: ignore[arg-type]


def of(path: Path, name: str, days: tuple[float, float]) -> bytes:
    make(path, name, days=days)
    return identity.read_der(path.with_suffix(".crt"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "east"}, "it is this site's own"),
        ({"name": "north"}, "its certificate is for west"),
        ({"certificate": b"no certificate"}, "what should be its certificate is not a certificate"),
        ({"days": (-10, -1)}, "UTC), make a new certificate there: isthmus keygen --force"),
        ({"days": (5, 10)}, "its certificate begins at"),
        ({"address": parse_address("198.18.0.1:4500")}, "is tunnel.listen of this site itself"),
    ],
)
def test_what_does_not_fit_is_refused(
    isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str], changes: dict[str, object], words: str
) -> None:
    if days := changes.get("days"):
        changes = {"certificate": of(tmp_path / "made", "west", days)}  # type: ignore[arg-type]
    before = content(tmp_path / "east")
    shown = isthmus("pair", altered(hosts["west"], **changes), tmp_path / "east" / "east.toml")
    assert shown.exit_code in (ExitCode.FAILED, ExitCode.CONFIGURATION)
    assert words in shown.stderr
    assert content(tmp_path / "east") == before


def test_a_line_that_is_typed_where_it_was_printed(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    """As it was printed: with the name of the other host's file, which is not here."""
    before = content(tmp_path / "west")
    shown = isthmus("pair", hosts["west"], tmp_path / "west" / "east.toml")
    assert shown.exit_code == ExitCode.CONFIGURATION
    assert "type the line on the host of east" in shown.stderr
    assert content(tmp_path / "west") == before


def test_a_file_whose_name_nothing_can_have(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    shown = isthmus("pair", hosts["west"], tmp_path / f"{'x' * 300}.toml")
    assert shown.exit_code == ExitCode.CONFIGURATION
    assert "cannot be read: File name too long" in shown.stderr


def test_a_line_that_was_cut(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    shown = isthmus("pair", hosts["west"][:-1], tmp_path / "east" / "east.toml")
    assert shown.exit_code == ExitCode.USAGE
    assert "copy the whole line again" in shown.stderr


@pytest.mark.usefixtures("hosts")
def test_our_own_certificate_under_another_name(isthmus: Isthmus, tmp_path: Path) -> None:
    """What only the whole check finds takes back the certificate that was written for it."""
    make(tmp_path / "east" / "east", "west", days=(-1, 100))
    line = encode(Invitation("west", None, identity.read_der(tmp_path / "east" / "east.crt")))
    before = content(tmp_path / "east")
    shown = isthmus("pair", line, tmp_path / "east" / "east.toml")
    assert shown.exit_code == ExitCode.CONFIGURATION
    assert "is this site's own certificate" in shown.stderr
    assert content(tmp_path / "east") == before


def test_a_peer_that_is_known_by_name(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    file = tmp_path / "east" / "east.toml"
    text = re.sub(r'certificate = "west.crt"\n', "", file.read_text()).replace(
        "[identity]", '[identity]\nca = "ca.crt"'
    )
    file.write_text(text)
    shown = isthmus("pair", hosts["west"], file)
    assert shown.exit_code == ExitCode.FAILED
    assert "recognises it by its name" in shown.stderr


@pytest.mark.usefixtures("hosts")
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("ca", '[identity]\nca = "ca.crt"'),
        ("page", '[status]\ncertificate = "./page.crt"\nkey = "page.key"'),
    ],
)
def test_a_site_that_is_called_like_another_file(isthmus: Isthmus, tmp_path: Path, name: str, key: str) -> None:
    """Not even with --replace is a file replaced that stands there for something else, nor made where it is missing."""
    file = tmp_path / "east" / "east.toml"
    change(file, key.partition("\n")[0], key)
    line = encode(Invitation(name, None, of(tmp_path / "made", name, (-1, 100))))
    for there in (True, False):
        make(tmp_path / "east" / name, name)
        if not there:
            (tmp_path / "east" / f"{name}.crt").unlink()
        before = content(tmp_path / "east")
        shown = isthmus("pair", line, file, "--replace")
        assert shown.exit_code == ExitCode.FAILED
        assert f"{name}.crt, which {file} uses for something else; give that file another name" in shown.stderr
        assert content(tmp_path / "east") == before


def test_a_certificate_that_is_there_may_serve_others(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    """Nothing is replaced: the operator has let the other site's programs read the status, too."""
    file = tmp_path / "east" / "east.toml"
    isthmus("pair", hosts["west"], file)
    make(tmp_path / "east" / "page", "page")
    status = '[status]\ncertificate = "page.crt"\nkey = "page.key"\nclients = "west.crt"\n'
    change(file, "[status]\n", status)
    shown = isthmus("pair", hosts["west"], file)
    assert (shown.exit_code, shown.stderr) == (0, "")


def test_a_file_that_is_written_in_another_way(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    file = tmp_path / "east" / "east.toml"
    change(file, "[[peer]]", '[["peer"]]')
    before = content(tmp_path / "east")
    shown = isthmus("pair", hosts["west"], file)
    assert shown.exit_code == ExitCode.FAILED
    by_hand = f'write by hand, for peer[0]: address = "198.18.0.2:4500"; and into {tmp_path}/east/west.crt:\n'
    assert shown.stderr.endswith(by_hand + (tmp_path / "west" / "west.crt").read_text())
    assert content(tmp_path / "east") == before


def test_what_is_to_be_written_by_hand_is_all_that_is_needed(
    isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]
) -> None:
    file = tmp_path / "east" / "east.toml"
    text = file.read_text().partition("[[peer]]")[0]
    file.write_text('peer = [{ name = "north", certificate = "north.crt" }]\n' + text)
    before = content(tmp_path / "east")
    shown = isthmus("pair", hosts["west"], file)
    assert shown.exit_code == ExitCode.FAILED
    assert 'for peer[1]: name = "west", address = "198.18.0.2:4500", certificate = "west.crt"; and into' in shown.stderr
    assert shown.stderr.endswith((tmp_path / "west" / "west.crt").read_text())
    assert content(tmp_path / "east") == before


def test_a_certificate_that_ends_soon_is_taken(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    line = altered(hosts["west"], certificate=of(tmp_path / "made", "west", (-1, 7)))
    shown = isthmus("pair", line, tmp_path / "east" / "east.toml")
    assert shown.exit_code == 0
    soon = datetime.now(UTC) + timedelta(days=7)
    assert f"expires on {soon:%Y-%m-%d}" in shown.stderr


def test_a_directory_that_cannot_be_written(isthmus: Isthmus) -> None:
    with directory_of_nobody() as path:
        lines = new_hosts(isthmus, path)
        (path / "east").chmod(0o500)
        shown = isthmus("pair", lines["west"], path / "east" / "east.toml")
        (path / "east").chmod(0o700)
        remedy = f"let user {os.geteuid()} write in {path}/east"
    assert shown.exit_code == ExitCode.FAILED
    assert f"west.crt cannot be written: Permission denied; {remedy}" in shown.stderr


def test_the_line_can_be_had_again(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]) -> None:
    shown = isthmus("invite", tmp_path / "east" / "east.toml")
    assert shown.stdout == f"isthmus pair {hosts['east']} west.toml\n"
    assert identity.show_fingerprint(identity.fingerprint(tmp_path / "east" / "east.crt")) in shown.stderr
    other = isthmus("invite", tmp_path / "east" / "east.toml", "--reach", "east.example:4501")
    assert str(decode(line_of(other.stdout)).address) == "east.example:4501"
    for nowhere in ("x", "0.0.0.0:4500", "[::]:4500"):
        shown = isthmus("invite", tmp_path / "east" / "east.toml", "--reach", nowhere)
        assert (shown.exit_code, shown.stdout) == (ExitCode.USAGE, "")


def test_a_line_for_which_of_many_sites_says_what_to_put_into_it(
    isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str]
) -> None:
    config = tmp_path / "east" / "east.toml"
    assert "OTHER" not in isthmus("invite", config).stderr
    config.write_text(config.read_text() + '[[peer]]\nname = "south"\ncertificate = "south.crt"\n')
    shown = isthmus("invite", config)
    assert shown.stdout == f"isthmus pair {hosts['east']} OTHER.toml\n"
    assert "the other site's name in place of OTHER" in shown.stderr


def test_a_read_only_file_system(
    isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There even what is not there cannot be removed."""

    def refuse(path: Path, **_: bool) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    def refuse_all(files: list[tuple[Path, bytes, int]]) -> None:
        refuse(files[0][0])

    monkeypatch.setattr("proxy.setup.admission.create_all", refuse_all)
    monkeypatch.setattr(Path, "unlink", refuse)
    shown = isthmus("pair", hosts["west"], tmp_path / "east" / "east.toml")
    assert shown.exit_code == ExitCode.FAILED
    assert f"west.crt cannot be written: Read-only file system; mount {tmp_path}/east writable" in shown.stderr


def test_a_full_disk(isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str], full_disk: None) -> None:
    """It was said that None cannot be written, and that this user should be let."""
    shown = isthmus("pair", hosts["west"], tmp_path / "east" / "east.toml")
    assert shown.exit_code == ExitCode.FAILED
    why = f"{tmp_path}/east cannot be written: No space left on device; make room there"
    assert shown.stderr == f"isthmus: {why}\n"


def test_who_is_ended_between_both_files_has_changed_neither(
    isthmus: Isthmus, tmp_path: Path, hosts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Ctrl-C or SIGTERM, while a slow disk is waited for: the certificate that is replaced is not lost."""
    file = tmp_path / "east" / "east.toml"
    isthmus("pair", hosts["west"], file)
    before = content(tmp_path / "east")
    (tmp_path / "again").mkdir()
    line = new_hosts(isthmus, tmp_path / "again")["west"]

    def end(*arguments: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("proxy.setup.admission._check_left", end)
    assert isthmus("pair", line, file, "--replace").exit_code == ExitCode.INTERRUPTED
    assert content(tmp_path / "east") == before
