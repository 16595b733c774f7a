"""Tries once to reach peers and exports, for `isthmus doctor`. Blocking, changes nothing.

A peer is connected to as by a lane, with the site's own certificates, up to the end of the TLS handshake. Then CLOSE is
sent, so that the other side need not wait for a HELLO, and its log has the reason. With TLS 1.3 the dialler's handshake
succeeds before its certificate was judged: the certificate was accepted if the other side then ends the connection
without an alert.

TLS begins with a message that is padded to more than a packet of full size. If that message is not answered, but one
that goes in short packets is, the path drops large packets without a word (PMTU black hole).
"""

import hashlib
import socket
import ssl
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from proxy.config.addresses import Address
from proxy.config.model import Export, Identity, Peer
from proxy.doctor.facts import Bound, Contact, Reach
from proxy.net.connecting import telling
from proxy.net.handshake import explain, refuses_us
from proxy.net.listener import reserve
from proxy.net.sockets import shorten_segments
from proxy.net.tcpinfo import tcp_info
from proxy.net.tls import Certificates
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.frames import encode_close
from proxy.protocol.reader import encode

_AT_ONCE = 16
_MTU = {socket.AF_INET: (socket.IPPROTO_IP, 14), socket.AF_INET6: (socket.IPPROTO_IPV6, 24)}
"""IP_MTU and IPV6_MTU (Linux, include/uapi/linux/in.h, in6.h), which the socket module does not name."""
_DISCOVERY = {socket.AF_INET: (socket.IPPROTO_IP, 10), socket.AF_INET6: (socket.IPPROTO_IPV6, 23)}
"""IP_MTU_DISCOVER and IPV6_MTU_DISCOVER; 0: the path's MTU is never discovered."""
_PADDING_MAX = 16_000
"""Bytes: more than a jumbo frame; only loopback has larger packets."""
_PADDING_MORE = 256
_NAME_BYTES = 255


@dataclass(frozen=True, slots=True)
class Neighbours:
    """How each peer and each export was reached, by name."""

    peers: dict[str, Reach]
    """Peers that have an address."""
    exports: dict[str, Reach]


def reach_all(
    peers: Iterable[Peer], exports: Iterable[Export], certificates: Certificates | None, timeout: float
) -> Neighbours:
    """Reach each once, many at a time. Without certificates peers are only connected to. `timeout`: seconds a step."""
    dialled = [peer for peer in peers if peer.address is not None]
    exports = list(exports)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        of_peers = pool.map(lambda peer: reach_peer(peer, certificates, timeout), dialled)
        of_exports = pool.map(lambda export: reach_address(export.address, timeout), exports)
        return Neighbours(
            {peer.name: reach for peer, reach in zip(dialled, of_peers, strict=True)},
            {export.name: reach for export, reach in zip(exports, of_exports, strict=True)},
        )


def reach_address(address: Address, timeout: float) -> Reach:
    """Connect, and close. `timeout`: seconds."""
    try:
        with _connected(address, timeout) as connection:
            return _measured(connection, Contact.ACCEPTED)
    except OSError as error:
        return _unreached(error)


def reach_peer(peer: Peer, certificates: Certificates | None, timeout: float) -> Reach:
    """Connect, see whose certificates are accepted, and say CLOSE. `timeout`: seconds that each step may take."""
    assert peer.address is not None
    if certificates is None:
        return reach_address(peer.address, timeout)
    reach = _attempt(peer.name, peer.address, certificates, timeout)
    if reach.contact is Contact.SILENT:
        short = _attempt(peer.name, peer.address, certificates, timeout, short=True)
        return replace(reach, contact=Contact.BLACK_HOLE) if short.contact in _ANSWERED else reach
    if reach.contact is Contact.WRONG_CERTIFICATE:
        return replace(reach, shown=_shown(peer.address, certificates.config.identity, timeout))
    return reach


def try_to_bind(address: Address) -> Bound:
    """Whether a site could listen there. Nobody can connect while that is tried."""
    try:
        reserve(address).close()
    except OSError as error:
        return Bound(error.errno or -1, error.strerror or str(error))
    return Bound(0)


_ANSWERED = (Contact.ACCEPTED, Contact.WRONG_CERTIFICATE, Contact.NOT_TRUSTED, Contact.UNCLEAR)
"""Contacts for which the other side has answered TLS's first message."""


def _connected(address: Address, timeout: float, *, short: bool = False) -> socket.socket:
    """Connect. `short`: with short packets. Raises OSError: if a name has several addresses, the most telling error, as
    a site does."""
    failures = []
    for family, kind, protocol, _, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        try:
            return _connect(socket.socket(family, kind, protocol), place, timeout, short=short)
        except OSError as error:  # also of a host that has nothing of that family
            failures.append(error)
    raise telling(failures) or OSError(f"{address.host} has no address")


def _connect(connection: socket.socket, place: Any, timeout: float, *, short: bool) -> socket.socket:
    try:
        if short:
            shorten_segments(connection)
        connection.settimeout(timeout)
        connection.connect(place)
    except BaseException:
        connection.close()
        raise
    return connection


def _attempt(name: str, address: Address, certificates: Certificates, timeout: float, *, short: bool = False) -> Reach:
    try:
        connection = _connected(address, timeout, short=short)
    except OSError as error:
        return _unreached(error)
    with connection, connection.dup() as view:  # TLS takes the socket away
        connected = _measured(view, Contact.ACCEPTED)
        context = certificates.dialling(name)
        context.set_alpn_protocols([] if short else _padding(connected.segment or 0))
        contact, detail = _shake_hands(connection, context, name, certificates)
        found = _measured(view, contact)  # by now a router may have said that the path is narrower
        answered = contact in _ANSWERED and not short
    return replace(found, detail=detail, round_trip=connected.round_trip, full_size=answered)


def _shake_hands(
    connection: socket.socket, context: ssl.SSLContext, name: str, certificates: Certificates
) -> tuple[Contact, str]:
    try:
        tls = context.wrap_socket(connection, server_hostname=name)
    except TimeoutError:
        return Contact.SILENT, ""
    except ssl.SSLCertVerificationError as error:
        return Contact.WRONG_CERTIFICATE, explain(error)
    except OSError as error:
        return (Contact.NOT_TRUSTED if refuses_us(error) else Contact.NOT_TLS), explain(error)
    with tls:
        shown, decoded = tls.getpeercert(binary_form=True) or b"", dict[str, object](tls.getpeercert() or {})
        verdict = _verdict(tls)
        if not certificates.proves(name, shown, decoded):
            return Contact.WRONG_CERTIFICATE, certificates.disown(shown, decoded, name)
        return verdict


def _verdict(tls: ssl.SSLSocket) -> tuple[Contact, str]:
    """Send CLOSE; the other side then ends the connection, or has ended it because it does not accept our certificate.

    The other side has as long for that as for any other step, even if it goes on sending.
    """
    until = time.monotonic() + (tls.gettimeout() or 0.0)
    reason = encode_close(CloseCode.SURPLUS, "isthmus doctor only looked whether the certificates are accepted")
    try:
        tls.sendall(encode(FrameType.CLOSE, 0, 0, reason))
        while tls.recv(4096):
            if time.monotonic() > until:
                raise TimeoutError
    except TimeoutError:
        return Contact.UNCLEAR, "it does not end the connection"
    except OSError as error:
        return (Contact.NOT_TRUSTED if refuses_us(error) else Contact.UNCLEAR), explain(error)
    return Contact.ACCEPTED, ""


def _shown(address: Address, own: Identity, timeout: float) -> bytes:
    """SHA-256 of whatever certificate is shown there; empty if none is. It is not verified, only reported.

    Our own is shown, and CLOSE is said, so that we are not taken for a stranger there.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(own.certificate, own.key)
    try:
        with socket.create_connection(address, timeout) as connection, context.wrap_socket(connection) as tls:
            shown = tls.getpeercert(binary_form=True) or b""  # not told any more once TLS has failed
            _verdict(tls)
            return hashlib.sha256(shown).digest()
    except OSError:
        return b""


def _padding(segment: int) -> list[str]:
    """Protocol names for ALPN that nobody knows, longer together than a packet: TLS sends them first, and peers ignore
    them."""
    size = min(segment + _PADDING_MORE, _PADDING_MAX)
    return ["-" * _NAME_BYTES] * -(-size // (_NAME_BYTES + 1))


def _measured(connection: socket.socket, contact: Contact) -> Reach:
    info = tcp_info(connection)
    discovery = _option(connection, *_DISCOVERY[connection.family])
    return Reach(
        contact,
        round_trip=(info and info.round_trip_seconds) or None,
        mtu=_option(connection, *_MTU[connection.family]),
        segment=_option(connection, socket.IPPROTO_TCP, socket.TCP_MAXSEG),
        discovery=None if discovery is None else discovery != 0,
    )


def _option(connection: socket.socket, level: int, option: int) -> int | None:
    try:
        return connection.getsockopt(level, option)
    except OSError:
        return None


def _unreached(error: OSError) -> Reach:
    if isinstance(error, socket.gaierror):
        return Reach(Contact.NO_NAME, error.strerror or "")
    if isinstance(error, TimeoutError):
        return Reach(Contact.TIMEOUT)
    if isinstance(error, ConnectionRefusedError):
        return Reach(Contact.REFUSED)
    return Reach(Contact.UNREACHABLE, error.strerror or str(error))
