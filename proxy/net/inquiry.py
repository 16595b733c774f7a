"""Asks a running site's status listener, using the address, TLS and token that the site's file names. Blocking.

The listener's certificate is not judged by a CA: it has to be the very one that the site's file names. Over plain HTTP,
which is for loopback only, any local user may hold the port while the site does not run: so a token is shown only if
whoever listens is root or the token's owner, as the site is.
"""

import contextlib
import ssl
import threading
from collections.abc import Iterator
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from socket import SHUT_RDWR, socket
from types import TracebackType
from typing import Self

from proxy import identity
from proxy.config.model import SiteConfig, Status
from proxy.identity import IdentityFault
from proxy.net.holders import holders

TIMEOUT = 15.0
"""Seconds that connecting and each read may take: the host may be busy."""
WHOLE = 4
"""A whole answer may take so many times the timeout: whoever listens may send a byte at a time without end."""
_ROOT = 0
LARGEST_ANSWER = 64 << 20
"""Bytes; 65536 streams a peer need some 30 MiB."""


class OtherCertificate(OSError):
    """The listener is not known by what it shows."""


class Inquiry:
    """One connection, opened when it is needed and kept. A context manager; one thread."""

    def __init__(self, config: SiteConfig, timeout: float) -> None:
        """`timeout`: seconds that connecting and each read may take; an answer may take `WHOLE` times as long."""
        self._status = config.status
        self._timeout = timeout
        self._vouched: socket | None = None
        """The connection whose other end may see a token."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if "_connection" in vars(self):
            self._connection.close()

    def ask(self, path: str, method: str = "GET", *, control: bool = False) -> tuple[HTTPResponse, bytes]:
        """Send a request; return the answer's head and body. `control`: send the token for what changes something.

        Raises OSError or HTTPException if there is no answer, IdentityFault if that token, or the file of the
        listener's certificate, cannot be read.
        """
        kept = self._connection.sock is not None
        try:
            return self._ask(path, method, control=control)
        except (OSError, HTTPException):
            self._connection.close()
            if not kept:
                raise
        return self._ask(path, method, control=control)  # the listener ends idle connections

    @cached_property
    def _connection(self) -> HTTPConnection:
        """Made by the first `ask`, so that a certificate that cannot be read makes that fail, and not `__init__`."""
        return _pointed_at(self._status, self._timeout)

    def _ask(self, path: str, method: str, *, control: bool) -> tuple[HTTPResponse, bytes]:
        headers = {}
        if found := find_token(self._status, control=control):
            self._vouch(found[0])
            headers["Authorization"] = f"Bearer {found[1]}"
        self._connection.request(method, path, headers=headers)
        with _in_time(self._connection, WHOLE * self._timeout), self._connection.getresponse() as response:
            body = response.read(LARGEST_ANSWER)
            if not response.isclosed():  # it was not read whole, or ends the connection
                self._connection.close()
        return response, body

    def _vouch(self, token: Path) -> None:
        """Connect, and check that whoever listens may see that token. Raises OSError if not; then nothing was sent."""
        if self._connection.sock is None:
            self._connection.connect()
        if self._status.certificate is not None or self._connection.sock is self._vouched:
            return
        users = holders(*self._connection.sock.getpeername()[:2])
        strangers = users - {_ROOT, token.stat().st_uid}
        if strangers or not users:
            self._connection.close()
            if not users:
                raise OSError(
                    "/proc/net/tcp does not tell who listens there (is /proc mounted?), so no token was shown"
                )
            who = f"user {min(strangers)} listens there, not root or the owner of {token}"
            raise OSError(f"{who}, so no token was shown; `ss -ltnp` tells what it is")
        self._vouched = self._connection.sock


@contextlib.contextmanager
def _in_time(connection: HTTPConnection, seconds: float) -> Iterator[None]:
    """Raise TimeoutError if the `with` block takes longer than `seconds`: the connection is shut down under it."""
    over, asked = threading.Event(), connection.sock

    def end() -> None:
        over.set()
        with contextlib.suppress(OSError):
            socket.shutdown(asked, SHUT_RDWR)  # below TLS, which another thread may be in

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # no more threads: better to ask without that limit than not at all
        timer.start()
    try:
        yield
    except (OSError, HTTPException):
        if not over.is_set():
            raise
    finally:
        timer.cancel()
    if over.is_set():
        raise TimeoutError


def find_token(status: Status, *, control: bool) -> tuple[Path, str] | None:
    """The file and the text of the token to be shown; None if the site's file names none.

    `control`: the token for what changes something; raises IdentityFault if that cannot be read. Without `control`: any
    token that this user can read, None if there is none.
    """
    if control:
        path = status.control_token
        return (path, identity.read_token(path, "status.control_token").decode()) if path else None
    for path, key in ((status.token, "status.token"), (status.control_token, "status.control_token")):
        if path is not None:
            with contextlib.suppress(IdentityFault):
                return path, identity.read_token(path, key).decode()
    return None


def _pointed_at(status: Status, timeout: float) -> HTTPConnection:
    host = _reached(status)
    if status.certificate is None:
        return HTTPConnection(host, status.listen.port, timeout=timeout)
    return _Pinned(host, status.listen.port, timeout, identity.read_der(status.certificate))


def _reached(status: Status) -> str:
    """The host to connect to: loopback if the listener is on all addresses."""
    ip = status.listen.ip
    if ip is None or not ip.is_unspecified:
        return status.listen.host
    return "127.0.0.1" if ip.version == 4 else "::1"


class _Pinned(HTTPSConnection):
    """HTTPS with whoever shows that very certificate (DER)."""

    def __init__(self, host: str, port: int, timeout: float, certificate: bytes) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # `connect` compares the certificate
        super().__init__(host, port, timeout=timeout, context=context)
        self._certificate = certificate

    def connect(self) -> None:
        """Connect. Raises OtherCertificate if another one is shown; then no request has been sent."""
        super().connect()
        if self.sock.getpeercert(binary_form=True) != self._certificate:
            self.close()
            raise OtherCertificate("it shows another certificate than status.certificate")
