"""Certificates that `isthmus keygen` would not make: for the tests of whoever has to refuse or accept them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
Signer = tuple[x509.Name, ec.EllipticCurvePrivateKey]


def make(
    path: Path,
    name: str,
    *,
    signer: Signer | None = None,
    authority: bool = False,
    purposes: tuple[x509.ObjectIdentifier, ...] = (SERVER, CLIENT),
    days: tuple[float, float] = (-1, 10),
    key: ec.EllipticCurvePrivateKey | None = None,
) -> Signer:
    """Write `<path>.crt` and `<path>.key`, valid from the first to the second day from now; who can sign others."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, issuer_key = signer or (subject, key)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(authority, None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    certificate = builder.sign(issuer_key, hashes.SHA256())
    path.with_suffix(".crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    write_key(path.with_suffix(".key"), key)
    return subject, key


def write_key(path: Path, key: Any, password: bytes | None = None) -> None:
    """The private key in PEM, mode 0600."""
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    path.touch(mode=0o600)
    path.write_bytes(pem)
