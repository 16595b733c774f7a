"""Who a site is: its private key and certificate, and what can be read from the certificates of others.

`generate` makes a self-signed P-256 certificate that serves both ends of a tunnel. It is a leaf (not a CA), and a
trust anchor for nothing but itself: a site that pins it trusts that one key. Everything here reads and writes files
and blocks for as long as they do.
"""

import hashlib
import os
import re
import secrets
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from proxy.errors import OperatorError, way_to_write
from proxy.files import File, NotAFile, create_all, present, read, replace_all
from proxy.text import typed

PEM, DER = serialization.Encoding.PEM, serialization.Encoding.DER
VALID_FOR = timedelta(days=3650)
CLOCK_TOLERANCE = timedelta(days=1)
"""A certificate is valid from that long before it is made, for the sake of clocks that are behind."""
LEAST_TOKEN, LARGEST_TOKEN = 16, 4096
"""Characters of a token."""
_BEGINNING = re.compile(rb"-----BEGIN (?:X509 )?CERTIFICATE-----")
_BORDER = re.compile(rb"-----(?:BEGIN|END) [^-\n]*-----")
_BORDER_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?-----(?:BEGIN|END) [^-\n]*-----[\x00-\x20]*?$", re.MULTILINE)
"""A border that TLS recognises. `_BORDER` also finds one that is indented, or joined to other text, as when cat joins
two files of which the first has no newline at its end."""
LARGEST_FILE = 1 << 20
"""Bytes: no certificate or key file is larger, and a wrong path must not fill the memory."""


class IdentityFault(OperatorError):
    """A certificate or key file that cannot be used; says what is wrong with it, and the remedy."""

    def __init__(self, path: Path, wrong: str, remedy: str, *, damaged: bool = False) -> None:
        """`damaged`: the file can be read, but holds neither a certificate that can be used nor a key."""
        super().__init__(f"{path} {wrong}; {remedy}")
        self.damaged = damaged
        self.path = path
        self.wrong = wrong
        self.remedy = remedy


@dataclass(frozen=True)
class Certificate:
    """The facts about a certificate that are used here."""

    name: str
    """Its common name, or the first of `sites`; for logs only."""
    sites: tuple[str, ...]
    """The DNS names that it is for."""
    fingerprint: bytes
    """SHA-256 of its DER form, 32 bytes."""
    public_key: bytes
    """SubjectPublicKeyInfo in DER."""
    begins: datetime
    expires: datetime
    authority: bool
    """A CA, that is, may sign others."""
    dials: bool
    """May be shown by the side that opens a connection."""
    answers: bool
    """May be shown by the side that accepts a connection."""


@dataclass(frozen=True)
class Identity:
    """The files that `generate` wrote, and the certificate in them."""

    certificate_path: Path
    key_path: Path
    certificate: Certificate


def generate(site: str, out_dir: Path, *, force: bool = False, now: datetime | None = None) -> Identity:
    """Make `<site>.key` (mode 0600) and `<site>.crt` in the directory, which is made if it is missing.

    Never overwrites unless forced. Raises IdentityFault.
    """
    made, files = draft(site, out_dir, now=now)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IdentityFault(out_dir, f"cannot be made a directory: {error.strerror}", "choose another one") from None
    try:
        write = replace_all if force else create_all
        write(files)
    except FileExistsError as error:
        remedy = "remove it, choose another directory, or use --force to replace it (its peers then need the new one)"
        raise IdentityFault(Path(error.filename), "exists already", remedy) from None
    except OSError as error:
        path = Path(error.filename or out_dir)
        remedy = f"{way_to_write(path, error)}, or choose another directory"
        raise IdentityFault(path, f"cannot be written: {error.strerror}", remedy) from None
    return made


def draft(site: str, out_dir: Path, *, now: datetime | None = None) -> tuple[Identity, list[File]]:
    """As `generate`, but nothing is written: the caller writes the two files."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _self_signed(site, key, now or datetime.now(UTC))
    key_path, certificate_path = out_dir / f"{site}.key", out_dir / f"{site}.crt"
    files = [(key_path, _key_pem(key), 0o600), (certificate_path, certificate.public_bytes(PEM), 0o644)]
    return Identity(certificate_path, key_path, _facts(certificate)), files


def read_certificates(path: Path) -> tuple[Certificate, ...]:
    """All certificates of a PEM file, at least one; the first is the site's own. Raises IdentityFault."""
    content = _content(path)
    key = b"PRIVATE KEY-----" in content
    try:
        found = tuple(_facts(certificate) for certificate in x509.load_pem_x509_certificates(content))
    except Exception:  # the parser has many ways to dislike a file, and all of them mean this
        wrong = "holds a private key, not a certificate" if key else "is not a certificate"
        remedy = "write the path of a PEM file that begins with BEGIN CERTIFICATE"
        raise IdentityFault(path, wrong, remedy, damaged=not key) from None
    if len(_BORDER_LINE.findall(content)) < len(_BORDER.findall(content)):
        # The parser accepts that, TLS does not: it fails without naming the file, or silently skips that certificate.
        remedy = "write it anew, without spaces before them, and with a newline behind each"
        raise IdentityFault(path, "has BEGIN or END not as a line of its own", remedy, damaged=not key)
    if len(found) < len(_BEGINNING.findall(content)):  # the parser skips what is cut off, TLS refuses the file
        wrong = f"is cut off, or damaged, behind its certificate {len(found)}"
        remedy = "write it anew, with every certificate from BEGIN to END CERTIFICATE"
        raise IdentityFault(path, wrong, remedy, damaged=not key)
    return found


def read_der(path: Path) -> bytes:
    """The file's first certificate in DER form. Raises IdentityFault."""
    read_certificates(path)  # for its clear errors
    return x509.load_pem_x509_certificates(_content(path))[0].public_bytes(DER)


def from_der(der: bytes) -> Certificate:
    """The facts about a certificate in DER form. Raises ValueError."""
    try:
        return _facts(x509.load_der_x509_certificate(der))
    except Exception:  # as above
        raise ValueError("is not a certificate") from None


def as_pem(der: bytes) -> bytes:
    """The certificate in PEM, as its file has it. Raises ValueError."""
    return x509.load_der_x509_certificate(der).public_bytes(PEM)


def fingerprint(path: Path) -> bytes:
    """SHA-256 of the file's first certificate in DER form, 32 bytes. Raises IdentityFault."""
    return read_certificates(path)[0].fingerprint


def show_fingerprint(value: bytes) -> str:
    """As `openssl x509 -fingerprint -sha256` writes it: 3A:7F:..."""
    return value.hex(":").upper()


def show_moment(when: datetime) -> str:
    """To the minute; `when` is UTC."""
    return f"{when:%Y-%m-%d %H:%M} UTC"


def if_clock_is_right(now: datetime) -> str:
    """How the remedy for a certificate that has expired begins: perhaps only this host's clock is wrong."""
    return f"if the clock of this host is right ({show_moment(now)})"


def compare_clocks(now: datetime) -> str:
    """The remedy for a certificate from another host that is not valid yet."""
    return f"see whether the clocks of both hosts are right (here {show_moment(now)})"


def read_public_key(path: Path) -> bytes:
    """The public half, SubjectPublicKeyInfo in DER, of the private key in a PEM file. Raises IdentityFault."""
    content = _content(path, secret=True)
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except TypeError:
        remedy = "take the passphrase off, since nobody is there to type it: openssl pkey -in OLD -out NEW"
        raise IdentityFault(path, "is encrypted with a passphrase", remedy) from None
    except Exception:
        wrong = "holds a certificate, not a private key" if b"CERTIFICATE-----" in content else "is not a private key"
        raise IdentityFault(path, wrong, "write the path of a PEM file that begins with BEGIN PRIVATE KEY") from None
    return _public_der(key.public_key())


def read_token(path: Path, key: str) -> bytes:
    """The token in a file, ASCII, without the spaces around it. Raises IdentityFault.

    `key`: the configuration's key for that file, such as "status.token".
    """
    making = f"make one: {_rand(path)}"
    token = _content(path, f"name another file as {key}", f"{making}, or ", secret=True).strip()
    if b"\n" in token or len(token) > LARGEST_TOKEN:  # such as a private key: nobody shall be told to write over it
        raise IdentityFault(path, "holds something else than a token", f"name another file as {key}: {_rand('FILE')}")
    if is_open(path):
        raise IdentityFault(path, "can be read or written by others than its owner", typed("chmod", "600", path))
    shown = token.isascii() and token.decode("ascii").isprintable()  # a header cannot have others, such as NUL
    if len(token) < LEAST_TOKEN or not shown or len(token.split()) != 1:
        wrong = f"holds no token of {LEAST_TOKEN} or more letters and digits"
        raise IdentityFault(path, wrong, making)
    return token


def _rand(path: Path | str) -> str:
    return f"(umask 077; openssl rand -hex 32 > {typed(path)})"


def make_token() -> bytes:
    """A new random token, with the newline that ends its file."""
    return f"{secrets.token_hex(32)}\n".encode()


def is_open(path: Path) -> bool:
    """True if it is a file, and others than its owner have any right to it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def _self_signed(site: str, key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, site)])
    return (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - CLOCK_TOLERANCE)
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_signatures_only(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(site)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _signatures_only() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


_ANOTHER = "write the path of a PEM file, absolute or relative to this file"


def _content(path: Path, another: str = _ANOTHER, making: str = "", *, secret: bool = False) -> bytes:
    """What is in a file of at most `LARGEST_FILE` bytes. Raises IdentityFault.

    `another`: the remedy if there is no such file, behind `making`, or if it is no file, which nobody shall be told to
    write to. `secret`: the file is for its owner alone, so the remedy for a user who may not read it is to own it.
    """
    try:
        if not present(path):
            raise IdentityFault(path, "does not exist", f"{making}{another}")
        content = read(path, LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise IdentityFault(path, "is larger than 1 MiB", another)
        return content
    except NotAFile as error:
        raise IdentityFault(path, f"is {error.found}", another) from None
    except OSError as error:
        remedy = "let this user read it" if isinstance(error, PermissionError) else another
        if secret and isinstance(error, PermissionError):
            own = typed("chown", os.geteuid(), path)
            remedy = f"run this as the site's user; if that is this one, it has to own the file: {own}"
        raise IdentityFault(path, f"cannot be read: {error.strerror}", remedy) from None


def _facts(certificate: x509.Certificate) -> Certificate:
    names = _extension(certificate, x509.SubjectAlternativeName)
    sites = tuple(names.get_values_for_type(x509.DNSName)) if names else ()
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    constraints = _extension(certificate, x509.BasicConstraints)
    return Certificate(
        name=str(common[0].value) if common else ", ".join(sites[:1]),
        sites=sites,
        fingerprint=hashlib.sha256(certificate.public_bytes(DER)).digest(),
        public_key=_public_der(certificate.public_key()),
        begins=certificate.not_valid_before_utc,
        expires=certificate.not_valid_after_utc,
        authority=constraints is not None and constraints.ca,
        dials=_serves(certificate, ExtendedKeyUsageOID.CLIENT_AUTH),
        answers=_serves(certificate, ExtendedKeyUsageOID.SERVER_AUTH),
    )


def _serves(certificate: x509.Certificate, purpose: x509.ObjectIdentifier) -> bool:
    """Whether the certificate may serve that purpose; extensions that it does not have permit everything."""
    usage, purposes = _extension(certificate, x509.KeyUsage), _extension(certificate, x509.ExtendedKeyUsage)
    return (usage is None or usage.digital_signature) and (purposes is None or purpose in purposes)


_Extension = TypeVar("_Extension", bound=x509.ExtensionType)


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _public_der(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo)
