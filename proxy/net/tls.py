"""Makes the contexts of TLS 1.3, which demand a certificate of both sides, and says whose a certificate is.

A peer is recognised by its pinned certificate, byte for byte, or, where the site trusts a private CA, by its name in
the certificate's subject alternative names. Validity, purpose and signature have been checked by the TLS library then.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding

from proxy.aside import DISK_SECONDS, UNANSWERED, aside
from proxy.config.loading import load
from proxy.config.mistakes import ConfigError
from proxy.config.model import Identity, SiteConfig
from proxy.errors import OperatorError
from proxy.figures import ENDS_SOON, remaining
from proxy.net.handshake import JudgedConnection
from proxy.observe.snapshot import CertificateStatus

log = logging.getLogger(__name__)

_ENDED = "has ended: no new lane comes up with it; if this host's clock is right,"
"""With a clock that is ahead, the new certificate would begin too late for everyone else."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Everything that was read at one time from the files of the site's identity and of its peers."""

    answering: ssl.SSLContext
    dialling: dict[str, ssl.SSLContext]
    own: bytes
    """This site's certificate (DER)."""
    pins: dict[bytes, str]
    """Pinned certificates (DER) and whose they are."""
    named: frozenset[str]
    """Peers that are recognised by name under the CA."""
    authorities: tuple[x509.Certificate, ...]
    """The certificates of the private CA. TLS trusts pinned certificates, too, and what these may have signed; that is
    why `issued` is asked."""
    certificates: tuple[CertificateStatus, ...]
    """This site's own first."""

    def issued(self, certificate: bytes) -> bool:
        """True if the private CA itself has signed that certificate (DER)."""
        leaf = x509.load_der_x509_certificate(certificate)
        return any(_signed(leaf, authority) for authority in self.authorities)


@dataclass(slots=True)
class Certificates:
    """What this site shows, and whom it trusts. Loop thread.

    Making it raises OSError, ssl.SSLError or ValueError for files that cannot be used; `reload` then keeps what is in
    use, and raises an alarm.
    """

    config: SiteConfig
    problem: str = field(default="", init=False)
    """Why the last reload failed; empty if it did not."""
    _loaded: _Loaded = field(init=False)
    _shown: dict[str, CertificateStatus] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._loaded = _load(self.config)

    @property
    def answering(self) -> ssl.SSLContext:
        """For lanes that are accepted."""
        return self._loaded.answering

    def dialling(self, peer: str) -> ssl.SSLContext:
        """For lanes that are dialled to that peer. Raises ValueError if it is no peer any more."""
        context = self._loaded.dialling.get(peer)
        if context is None:
            raise ValueError(self.removed(peer))
        return context

    def removed(self, peer: str) -> str:
        """Why that site is no peer any more, in words; empty if it is one."""
        return "" if peer in self._loaded.dialling else f"{peer} was removed from {self.config.source}"

    def recognise(self, certificate: bytes, decoded: dict[str, object]) -> str | None:
        """The peer whose verified certificate that is (DER, and as `getpeercert` decodes it); None if nobody's."""
        pinned = self._loaded.pins.get(certificate)
        if pinned is not None:
            return pinned
        if not self._loaded.issued(certificate):
            return None
        name = next((name for name in _names(decoded) if name in self._loaded.named), None)
        if name is not None:
            ends = ssl.cert_time_to_seconds(str(decoded["notAfter"]))
            self._shown[name] = CertificateStatus("peer", name, float(ends))
        return name

    def proves(self, peer: str, certificate: bytes, decoded: dict[str, object]) -> bool:
        """True if that certificate is, now, the peer's."""
        return self.recognise(certificate, decoded) == peer

    def disown(self, certificate: bytes, decoded: dict[str, object], peer: str | None = None) -> str:
        """Why that verified certificate is no peer's, or not that peer's, in words."""
        shown = ", ".join(map(repr, _names(decoded))) or "nobody by name"
        if self._loaded.named.intersection(_names(decoded)) and not self._loaded.issued(certificate):
            wrong = f"the certificate for {shown} is not signed by a certificate in identity.ca itself"
            return f"{wrong}; if an intermediate CA of yours has signed it, add that CA's to the file"
        if certificate == self._loaded.own:
            return "the certificate is this site's own: the way there leads back here"
        if peer is not None:
            return f"the certificate is for {shown}, not for {peer}"
        return f"the certificate for {shown} belongs to no configured peer"

    async def reload(self) -> SiteConfig | None:
        """Read all files anew and check them as at the start; if anything is wrong, keep what is in use and say so.

        Of the site's own file only identity and trust count here: a peer that is no longer in it is trusted no longer.
        Returns what the file says, for whoever takes over the rest; None if anything is wrong. This is done on a thread
        that nobody has to wait for, since the disk may never answer.
        """
        try:
            loading = asyncio.wrap_future(aside(partial(_load_anew, self.config), "reloading"))
            file, self._loaded = await asyncio.wait_for(loading, DISK_SECONDS)
        except (OperatorError, OSError, ValueError) as error:
            words = error.in_one_line if isinstance(error, ConfigError) else " ".join(str(error).split())
            reason = words or UNANSWERED
            self.problem = f"the new files cannot be used, the old ones stay in use: {reason}"
            log.error("%s", self.problem)
            return None
        self.problem = ""
        log.info("certificates have been read anew")
        return file

    @property
    def status(self) -> tuple[CertificateStatus, ...]:
        """The certificates in use, and when they end; of peers recognised by name the one that they showed last."""
        return (*self._loaded.certificates, *(each for each in self._shown.values() if each.name in self._loaded.named))

    @property
    def alarms(self) -> list[str]:
        """A failed reload, and a certificate that ends soon."""
        alarms = [self.problem] if self.problem else []
        left = self._loaded.certificates[0].expires - time.time()
        if left < ENDS_SOON:
            ends = f"ends in {remaining(left)};" if left > 0 else _ENDED
            alarms.append(
                f"the site's certificate {ends} make a new one with `isthmus keygen`, give it to the peers, and"
                " `isthmus reload`"
            )
        return alarms


def _names(decoded: dict[str, object]) -> list[str]:
    names = decoded.get("subjectAltName", ())
    assert isinstance(names, tuple)
    return [value for kind, value in names if kind == "DNS"]


def _load_anew(running: SiteConfig) -> tuple[SiteConfig, _Loaded]:
    """The site's file, and what it names, but for the status listener, which keeps the files that it was started with:
    the status has to tell when those end."""
    file = load(running.source)
    return file, _load(file.model_copy(update={"status": running.status}))


def _load(config: SiteConfig) -> _Loaded:
    pins = {_first_certificate(peer.certificate): peer.name for peer in config.peers if peer.certificate is not None}
    own = _first_certificate(config.identity.certificate)
    ca = config.identity.ca if any(peer.certificate is None for peer in config.peers) else None
    answering = _context(ssl.PROTOCOL_TLS_SERVER, config.identity, pins, ca)
    answering.num_tickets = 0  # a lane is never resumed by TLS: the certificate is judged each time
    # Every known certificate passes TLS, also where another peer was dialled: then `disown` can say whose it is.
    dialling = {
        peer.name: _context(ssl.PROTOCOL_TLS_CLIENT, config.identity, (*pins, own), ca) for peer in config.peers
    }
    return _Loaded(
        answering=answering,
        dialling=dialling,
        own=own,
        pins=pins,
        named=frozenset(peer.name for peer in config.peers if peer.certificate is None),
        authorities=_authorities(config.identity.ca),
        certificates=tuple(_statuses(config)),
    )


def _signed(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def _authorities(path: Path | None) -> tuple[x509.Certificate, ...]:
    return _certificates(path) if path is not None else ()


def _certificates(path: Path) -> tuple[x509.Certificate, ...]:
    return tuple(x509.load_pem_x509_certificates(path.read_bytes()))


def _context(protocol: int, identity: Identity, pins: Iterable[bytes], ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.sslobject_class = JudgedConnection
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # names are checked by `recognise` and by HELLO
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_cert_chain(identity.certificate, identity.key, password=_no_password)
    for pin in pins:
        context.load_verify_locations(cadata=pin)
    if ca is not None:
        context.load_verify_locations(ca)
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted; write it without a pass phrase, readable by its owner only")


def _first_certificate(path: Path) -> bytes:
    """DER of the first certificate in the file; whatever else is in the file is ignored, as by the check of the
    configuration."""
    return _certificates(path)[0].public_bytes(Encoding.DER)


def _statuses(config: SiteConfig) -> Iterator[CertificateStatus]:
    """When certificates end: this site's own, pinned ones, the status listener's, the CA's, its clients'."""
    yield _status("own", config.site.name, config.identity.certificate)
    for peer in config.peers:
        if peer.certificate is not None:
            yield _status("peer", peer.name, peer.certificate)
    if config.status.certificate is not None:
        with suppress(OSError, ValueError):  # moved away while it is in use: the listener's own reload says so
            yield _status("listener", config.site.name, config.status.certificate)
    yield from _statuses_of("ca", config.identity.ca)
    with suppress(OSError, ValueError):  # likewise
        yield from _statuses_of("clients", config.status.clients)


def _statuses_of(role: str, path: Path | None) -> Iterator[CertificateStatus]:
    for each in _authorities(path):
        yield CertificateStatus(role, each.subject.rfc4514_string(), each.not_valid_after_utc.timestamp())


def _status(role: str, name: str, path: Path) -> CertificateStatus:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return CertificateStatus(role, name, certificate.not_valid_after_utc.timestamp())
