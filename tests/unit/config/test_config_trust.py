"""Mistakes in the files that a configuration names: certificates, keys, the private CA."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from proxy.config.loading import load
from proxy.config.mistakes import ConfigError
from tests.certificates import CLIENT, SERVER, make, write_key
from tests.unit.config.contract import EAST, WEST
from tests.unit.config.mistakes import one_mistake
from tests.unit.config.texts import NORTH

Spoil = Callable[[Path], object]


def key_with_passphrase(pair: Path) -> None:
    write_key(pair / "east.key", ec.generate_private_key(ec.SECP256R1()), b"secret")


def certificate_with(**what: object) -> Spoil:
    return lambda pair: make(pair / "east", "east", **what)  # type: ignore[arg-type]


def peer_with(**what: object) -> Spoil:
    return lambda pair: make(pair / "west", "west", **what)  # type: ignore[arg-type]


def replace(pair: Path, old: str, new: str) -> None:
    (pair / "east.toml").write_text(EAST.replace(old, new))


def copy(source: str, target: str) -> Spoil:
    return lambda pair: (pair / target).write_bytes((pair / source).read_bytes())


def cut_off(path: Path, other: Path) -> None:
    """Written to its half when the disk was full, or read while it is written."""
    path.write_bytes(path.read_bytes() + other.read_bytes()[:300])


def half_a_chain(pair: Path) -> None:
    cut_off(pair / "east.crt", pair / "west.crt")


def joined(pair: Path) -> None:
    """As cat does it, where the first file has no newline at its end."""
    own = pair / "east.crt"
    own.write_bytes(own.read_bytes().rstrip() + (pair / "west.crt").read_bytes())


def indented(pair: Path) -> None:
    """As it stood in a document."""
    own = pair / "east.crt"
    own.write_text("".join(f"  {line}\n" for line in own.read_text().splitlines()))


def end_indented(pair: Path) -> None:
    own = pair / "east.crt"
    own.write_text(own.read_text().replace("-----END", " -----END"))


def second_indented(pair: Path) -> None:
    """TLS passes over that one, which would have been shown to peers as well."""
    own = pair / "east.crt"
    own.write_text(own.read_text() + (pair / "west.crt").read_text().replace("-----BEGIN", "  -----BEGIN"))


def circle(pair: Path) -> None:
    (pair / "east.key").unlink()
    (pair / "east.key").symlink_to("east.key")


def readable_certificate_as_key(pair: Path) -> None:
    """As all certificates are: to close it would be of no use."""
    copy("east.crt", "east.key")(pair)
    (pair / "east.key").chmod(0o644)


CERTIFICATE, KEY, PEER = "identity.certificate", "identity.key", "peer[0].certificate"

ONE: list[tuple[str, Spoil, str, str, str]] = [
    # id, what happens to the files, key, what is wrong, remedy
    ("no certificate", lambda d: (d / "east.crt").unlink(), CERTIFICATE, "does not exist ({}/east.crt)", "keygen"),
    (
        "no key",
        lambda d: (d / "east.key").unlink(),
        KEY,
        "does not exist ({}/east.key)",
        "keygen --site east --out {}, or",
    ),
    ("a circle of links", circle, KEY, "does not exist ({}/east.key)", "keygen --site east"),
    ("no peer", lambda d: (d / "west.crt").unlink(), PEER, "does not exist ({}/west.crt)", "on that peer's host"),
    ("rubbish certificate", lambda d: (d / "east.crt").write_text("x"), CERTIFICATE, "not a certificate", "BEGIN CERT"),
    ("empty certificate", lambda d: (d / "east.crt").write_text(""), CERTIFICATE, "not a certificate", "BEGIN CERT"),
    ("rubbish key", lambda d: (d / "east.key").write_text("x"), KEY, "not a private key", "BEGIN PRIVATE KEY"),
    ("half a chain", half_a_chain, CERTIFICATE, "cut off, or damaged, behind its certificate 1 ({}/east.crt)", "anew"),
    ("joined to a line", joined, CERTIFICATE, "not as a line of its own ({}/east.crt)", "a newline behind each"),
    ("indented", indented, CERTIFICATE, "not as a line of its own ({}/east.crt)", "a newline behind each"),
    ("end indented", end_indented, CERTIFICATE, "not as a line of its own ({}/east.crt)", "without spaces before"),
    (
        "second indented",
        second_indented,
        CERTIFICATE,
        "not as a line of its own ({}/east.crt)",
        "without spaces before",
    ),
    (
        "key as certificate",
        copy("east.key", "east.crt"),
        CERTIFICATE,
        "holds a private key, not a",
        "BEGIN CERTIFICATE",
    ),
    ("certificate as key", copy("east.crt", "east.key"), KEY, "holds a certificate, not a", "BEGIN PRIVATE KEY"),
    (
        "readable certificate as key",
        readable_certificate_as_key,
        KEY,
        "holds a certificate, not a",
        "BEGIN PRIVATE KEY",
    ),
    ("passphrase", key_with_passphrase, KEY, "is encrypted with a passphrase", "openssl pkey"),
    (
        "long path",
        lambda d: replace(d, '"east.key"', f'"{"x" * 300}"'),
        KEY,
        "cannot be read: File name too",
        "write the path of a PEM file",
    ),
    (
        "home directory",
        lambda d: replace(d, '"west.crt"', '"~/west.crt"'),
        PEER,
        "does not exist ({}/~/west.crt)",
        "write the path in full",
    ),
    (
        "variable",
        lambda d: replace(d, '"east.key"', '"$HOME/east.key"'),
        KEY,
        "does not exist",
        "write the path in full",
    ),
    (
        "other key",
        copy("west.key", "east.key"),
        KEY,
        "does not belong to the certificate in {}/east.crt (that of east)",
        "--out {} --force",
    ),
    ("open key", lambda d: (d / "east.key").chmod(0o640), KEY, "read or written by others", "chmod 600 {}/east.key"),
    ("key for all", lambda d: (d / "east.key").chmod(0o604), KEY, "read or written by others", "chmod 600"),
    ("expired", certificate_with(days=(-9, -1)), CERTIFICATE, "has expired (east, ", "--site east --out {} --force"),
    ("not yet valid", certificate_with(days=(2, 9)), CERTIFICATE, "is not valid before", "clock of this host"),
    ("server only", certificate_with(purposes=(SERVER,)), CERTIFICATE, "not for TLS client authentication", "both TLS"),
    ("client only", certificate_with(purposes=(CLIENT,)), CERTIFICATE, "not for TLS server authentication", "both TLS"),
    ("peer for clients", peer_with(purposes=(CLIENT,)), PEER, "not for TLS server authentication (west)", "both TLS"),
    ("own certificate pinned", copy("east.crt", "west.crt"), PEER, "is this site's own", "identity.certificate names"),
]


@pytest.mark.parametrize(("spoil", "key", "wrong", "remedy"), [case[1:] for case in ONE], ids=[case[0] for case in ONE])
def test_one_mistake(pair: Path, spoil: Spoil, key: str, wrong: str, remedy: str) -> None:
    spoil(pair)
    with one_mistake(key, wrong.format(pair), remedy.format(pair)):
        load(pair / "east.toml")


def test_whatever_is_wrong_with_several_files_is_said_at_once(pair: Path) -> None:
    (pair / "east.key").chmod(0o644)
    make(pair / "west", "west", days=(-9, -1))
    (pair / "east.crt").write_bytes((pair / "west.crt").read_bytes())
    with pytest.raises(ConfigError) as caught:
        load(pair / "east.toml")
    assert [(mistake.key, mistake.wrong.split(" (")[0]) for mistake in caught.value.mistakes] == [
        (KEY, "can be read or written by others than its owner"),
        (KEY, f"does not belong to the certificate in {pair}/east.crt"),
        (CERTIFICATE, "has expired"),
        (PEER, "is this site's own certificate"),
    ]


def test_a_site_without_a_name_is_given_none(pair: Path) -> None:
    (pair / "east.key").unlink()
    replace(pair, 'name = "east"\n', "")
    with pytest.raises(ConfigError, match=f"isthmus keygen --site NAME --out {pair}, or"):
        load(pair / "east.toml")


@pytest.mark.parametrize("days", [(-9, -1), (2, 9)], ids=["expired", "not yet valid"])
def test_the_dates_of_a_peers_certificate_are_no_mistake(pair: Path, days: tuple[int, int]) -> None:
    """That peer is refused; the others, and who is trusted no longer, are not to wait for it."""
    peer_with(days=days)(pair)
    assert load(pair / "east.toml").peers[0].name == "west"


def test_a_pipe_or_device_is_not_waited_for(pair: Path) -> None:
    (pair / "west.crt").unlink()
    os.mkfifo(pair / "west.crt")
    with pytest.raises(ConfigError, match=r"is a pipe, not a file \(.*west.crt\); write the path of a PEM file"):
        load(pair / "east.toml")


def test_a_key_may_be_shown_by_a_link(pair: Path) -> None:
    (pair / "east.key").rename(pair / "secret")
    (pair / "east.key").symlink_to("secret")
    assert load(pair / "east.toml").site.name == "east"


def test_a_waited_for_peer_has_to_be_a_client(pair: Path) -> None:
    make(pair / "east", "east", purposes=(SERVER,))
    with pytest.raises(ConfigError, match=r"not for TLS client authentication \(east\)"):
        load(pair / "west.toml")


def test_two_peers_with_one_key(pair: Path) -> None:
    (pair / "east.toml").write_text(EAST + NORTH.replace("north.crt", "west.crt"))
    with pytest.raises(ConfigError, match=r'peer\[1\].certificate = "west.crt"\n    is that of peer\[0\] as well'):
        load(pair / "east.toml")


class TestPrivateCa:
    """With `identity.ca` a peer may go without a pinned certificate."""

    @pytest.fixture
    def with_ca(self, pair: Path) -> Path:
        signer = make(pair / "ca", "Our CA", authority=True, purposes=())
        make(pair / "west", "west", signer=signer)
        text = WEST.replace('key = "west.key"', 'key = "west.key"\nca = "ca.crt"')
        (pair / "west.toml").write_text(text.replace('certificate = "east.crt"\n', ""))
        return pair

    def test_it_is_right(self, with_ca: Path) -> None:
        west = load(with_ca / "west.toml")
        assert west.identity.ca == with_ca / "ca.crt"
        assert west.peers[0].certificate is None

    def test_a_leaf_is_no_ca(self, with_ca: Path) -> None:
        (with_ca / "ca.crt").write_bytes((with_ca / "ca.crt").read_bytes() + (with_ca / "west.crt").read_bytes())
        with pytest.raises(ConfigError, match=r"holds a certificate \(west\) that is not a CA's"):
            load(with_ca / "west.toml")

    def test_none_of_several_may_be_cut_off(self, with_ca: Path) -> None:
        make(with_ca / "old", "Our old CA", authority=True, purposes=())
        cut_off(with_ca / "ca.crt", with_ca / "old.crt")
        with pytest.raises(ConfigError, match=r"is cut off, or damaged, behind its certificate 1 \("):
            load(with_ca / "west.toml")

    def test_none_of_several_may_be_indented(self, with_ca: Path) -> None:
        """TLS passed over it, and said nothing: peers whose certificates it has signed were refused."""
        make(with_ca / "old", "Our old CA", authority=True, purposes=())
        both = (with_ca / "old.crt").read_text() + (with_ca / "ca.crt").read_text().replace("-----BEGIN", " -----BEGIN")
        (with_ca / "ca.crt").write_text(both)
        with pytest.raises(ConfigError, match=r"has BEGIN or END not as a line of its own \("):
            load(with_ca / "west.toml")

    def test_its_site_is_not_told_to_sign_for_itself(self, with_ca: Path) -> None:
        """`keygen` makes a certificate that nobody would take, who trusts the CA."""
        make(with_ca / "west", "west", days=(-9, -1))
        with pytest.raises(ConfigError, match=r"if the clock of this host is right \(.*\), have the CA sign a new one"):
            load(with_ca / "west.toml")

    def test_one_of_several_may_have_expired(self, with_ca: Path) -> None:
        """The others still vouch for their peers."""
        make(with_ca / "old", "Our old CA", authority=True, purposes=(), days=(-9, -1))
        (with_ca / "ca.crt").write_bytes((with_ca / "old.crt").read_bytes() + (with_ca / "ca.crt").read_bytes())
        assert load(with_ca / "west.toml").identity.ca == with_ca / "ca.crt"

    def test_it_is_missing(self, with_ca: Path) -> None:
        (with_ca / "ca.crt").unlink()
        with pytest.raises(ConfigError, match=r"does not exist .*; write the path of a PEM file, absolute"):
            load(with_ca / "west.toml")
