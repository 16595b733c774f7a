"""What keygen makes is accepted by TLS itself, on both sides; files are never overwritten or left half-written."""

import os
import re
import socket
import ssl
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from proxy import identity
from proxy.identity import Identity, IdentityFault, generate
from tests.certificates import make
from tests.patience import PATIENCE


def context(side: int, own: Identity, trusted: Path, flags: int = 0) -> ssl.SSLContext:
    made = ssl.SSLContext(side)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.verify_mode = ssl.CERT_REQUIRED
    made.verify_flags |= ssl.VerifyFlags(flags)
    made.load_cert_chain(own.certificate_path, own.key_path)
    made.load_verify_locations(trusted)
    return made


def handshake(
    answering: ssl.SSLContext, dialling: ssl.SSLContext, name: str = "west"
) -> tuple[bytes, bytes, str | None]:
    """Over a socket pair: the certificates that the answerer and the dialler saw (DER), and the version of TLS."""
    near, far = socket.socketpair()
    near.settimeout(PATIENCE)
    far.settimeout(PATIENCE)

    def answer() -> bytes:
        with far, answering.wrap_socket(far, server_side=True) as lane:
            lane.sendall(lane.recv(4))
            return lane.getpeercert(binary_form=True) or b""

    with ThreadPoolExecutor(1) as pool:
        seen = pool.submit(answer)
        with near, dialling.wrap_socket(near, server_hostname=name) as lane:
            lane.sendall(b"ping")
            assert lane.recv(4) == b"ping"
            return seen.result(), lane.getpeercert(binary_form=True) or b"", lane.version()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Identity, Identity]:
    return generate("east", tmp_path), generate("west", tmp_path)


@pytest.mark.parametrize("flags", [0, ssl.VERIFY_X509_STRICT, ssl.VERIFY_X509_PARTIAL_CHAIN])
@pytest.mark.parametrize("dialler", ["east", "west"])
def test_tls_1_3_accepts_the_pinned_certificates_both_ways(tmp_path: Path, dialler: str, flags: int) -> None:
    sites = {site: generate(site, tmp_path) for site in ("east", "west")}
    near = sites.pop(dialler)
    (far,) = sites.values()
    answering = context(ssl.PROTOCOL_TLS_SERVER, far, near.certificate_path, flags)
    dialling = context(ssl.PROTOCOL_TLS_CLIENT, near, far.certificate_path, flags)
    at_far, at_near, version = handshake(answering, dialling, far.certificate.name)
    assert version == "TLSv1.3"
    assert ssl.DER_cert_to_PEM_cert(at_far) == near.certificate_path.read_text()
    assert ssl.DER_cert_to_PEM_cert(at_near) == far.certificate_path.read_text()


def test_another_certificate_of_the_same_name_is_refused(pair: tuple[Identity, Identity], tmp_path: Path) -> None:
    east, west = pair
    impostor = generate("west", tmp_path / "impostor")
    answering = context(ssl.PROTOCOL_TLS_SERVER, impostor, east.certificate_path)
    dialling = context(ssl.PROTOCOL_TLS_CLIENT, east, west.certificate_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(answering, dialling)


def test_a_pinned_certificate_signs_nobody_else(pair: tuple[Identity, Identity], tmp_path: Path) -> None:
    """Who has a site's key may be that site, and nobody more."""
    east, west = pair
    issuer = x509.load_pem_x509_certificate(west.certificate_path.read_bytes()).subject
    stolen = serialization.load_pem_private_key(west.key_path.read_bytes(), None)
    assert isinstance(stolen, ec.EllipticCurvePrivateKey)
    make(tmp_path / "forged", "west", signer=(issuer, stolen))
    forged = Identity(tmp_path / "forged.crt", tmp_path / "forged.key", west.certificate)
    answering = context(ssl.PROTOCOL_TLS_SERVER, forged, east.certificate_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(answering, context(ssl.PROTOCOL_TLS_CLIENT, east, west.certificate_path))


def test_what_the_certificate_says(tmp_path: Path) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    made = generate("east", tmp_path, now=now).certificate
    assert (made.name, made.sites) == ("east", ("east",))
    assert (made.begins, made.expires) == (now - timedelta(days=1), now + timedelta(days=3650))
    assert (made.authority, made.dials, made.answers) == (False, True, True)
    assert identity.read_certificates(tmp_path / "east.crt") == (made,)
    assert identity.read_public_key(tmp_path / "east.key") == made.public_key


def test_the_fingerprint_is_that_of_openssl(tmp_path: Path) -> None:
    made = generate("east", tmp_path)
    shown = identity.show_fingerprint(identity.fingerprint(made.certificate_path))
    assert re.fullmatch(r"([0-9A-F]{2}:){31}[0-9A-F]{2}", shown)
    command = ["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", str(made.certificate_path)]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    assert said.strip().endswith(f"={shown}")


def test_the_key_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = generate("east", tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.key_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.certificate_path.stat().st_mode) == 0o644
    assert not identity.is_open(made.key_path)
    made.key_path.chmod(0o620)
    assert identity.is_open(made.key_path)


@pytest.mark.parametrize("existing", ["east.key", "east.crt"])
def test_nothing_is_overwritten(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    with pytest.raises(IdentityFault, match=rf"{existing} exists already; .*--force"):
        generate("east", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text() == "mine"


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "east.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IdentityFault, match="exists already"):
        generate("east", tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_force_replaces_both(tmp_path: Path) -> None:
    first = generate("east", tmp_path)
    first.key_path.chmod(0o644)
    second = generate("east", tmp_path, force=True)
    assert first.certificate.fingerprint != second.certificate.fingerprint
    assert identity.read_public_key(second.key_path) == second.certificate.public_key
    assert not identity.is_open(second.key_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["east.crt", "east.key"]


def test_the_directory_is_made(tmp_path: Path) -> None:
    assert generate("east", tmp_path / "a" / "b").key_path.exists()


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IdentityFault, match=r"file cannot be made a directory: .*; choose another one"):
        generate("east", tmp_path / "file")


def test_a_chain_begins_with_the_sites_own_certificate(tmp_path: Path) -> None:
    signer = make(tmp_path / "ca", "Our CA", authority=True, purposes=())
    make(tmp_path / "east", "east", signer=signer)
    (tmp_path / "chain.crt").write_bytes((tmp_path / "east.crt").read_bytes() + (tmp_path / "ca.crt").read_bytes())
    first, second = identity.read_certificates(tmp_path / "chain.crt")
    assert (first.name, first.authority, second.name, second.authority) == ("east", False, "Our CA", True)


def test_a_certificate_without_purposes_serves_both(tmp_path: Path) -> None:
    make(tmp_path / "any", "any", purposes=())
    (certificate,) = identity.read_certificates(tmp_path / "any.crt")
    assert certificate.dials
    assert certificate.answers


def test_a_file_that_cannot_be_read_names_itself(tmp_path: Path) -> None:
    with pytest.raises(IdentityFault) as caught:
        identity.fingerprint(tmp_path / "missing.crt")
    assert caught.value.path == tmp_path / "missing.crt"
    assert caught.value.message.startswith(f"{tmp_path}/missing.crt does not exist; ")


def test_a_file_that_is_far_too_large_is_said(tmp_path: Path) -> None:
    """Even if it begins as it should: TLS would read all of it."""
    made = identity.generate("east", tmp_path)
    for path, read in ((made.certificate_path, identity.read_certificates), (made.key_path, identity.read_public_key)):
        os.truncate(path, 1 << 20)
        assert read(path)
        os.truncate(path, (1 << 20) + 1)
        with pytest.raises(IdentityFault, match="is larger than 1 MiB; write the path of a PEM file"):
            read(path)


def test_a_directory_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *more: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    remedy = f"let user {os.geteuid()} write in {tmp_path}, or choose another directory"
    with pytest.raises(IdentityFault, match=rf"east.key cannot be written: Permission denied; {remedy}$"):
        generate("east", tmp_path)


def test_nothing_is_left_of_a_pair_that_could_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def full(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IdentityFault, match="No space left on device"):
        generate("east", tmp_path)
    assert list(tmp_path.iterdir()) == []
