"""Finds out why a TLS handshake failed, and has the other side and our log told."""

import asyncio
import re
import ssl
from typing import Any, Self

from proxy.bounded_tls import BoundedConnection
from proxy.net.connecting import in_words

LAST_WORDS = 1.0
"""Seconds that the other side has to take the alert that says why, and to end the connection."""
SELF_SIGNED = 18
"""OpenSSL's number for a self-signed certificate, as `isthmus keygen` makes them, that is not trusted."""


class Handshake(ssl.SSLContext):
    """Stands for a shared SSLContext in one connection, and knows why its handshake failed: uvloop may not tell that.

    When a handshake fails uvloop closes the connection without sending the alert that says why. So a failure at this
    side is first reported to uvloop as a need to read (`JudgedConnection.do_handshake`): then uvloop sends the alert,
    and the other side ends the connection.
    """

    def __new__(cls, shared: ssl.SSLContext, limit: asyncio.Timeout) -> Self:
        """SSLContext demands a protocol when it is made. Its own settings do not matter: `shared` does the work."""
        return super().__new__(cls, shared.protocol)

    def __init__(self, shared: ssl.SSLContext, limit: asyncio.Timeout) -> None:
        """`shared` makes JudgedConnections. `limit` ends the handshake; a failure brings it forward to LAST_WORDS."""
        self._shared = shared
        self._limit = limit
        self._connection: JudgedConnection | None = None

    @property
    def failure(self) -> ssl.SSLError | None:
        """Why the handshake failed at this side; None if it did not."""
        return self._connection.failure if self._connection is not None else None

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **more: Any) -> ssl.SSLObject:
        """As SSLContext."""
        connection = self._shared.wrap_bio(incoming, outgoing, *args, **more)
        assert isinstance(connection, JudgedConnection)
        connection.incoming, connection.outgoing, connection.limit = incoming, outgoing, self._limit
        self._connection = connection
        return connection


class JudgedConnection(BoundedConnection):
    """The SSLObject of contexts that tls.py makes: remembers why the handshake failed, and gets the alert sent."""

    outgoing: ssl.MemoryBIO
    limit: asyncio.Timeout
    failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        """As SSLObject."""
        if self.failure is not None:
            raise self.failure
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            self.failure = error
            if self.outgoing.pending and not self.limit.expired():
                self.limit.reschedule(asyncio.get_running_loop().time() + LAST_WORDS)
                raise ssl.SSLWantReadError from None
            raise


_OUR_FAULT = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""In the names of the alerts by which the other side refuses our certificate (RFC 8446, section 6.2)."""
_AROUND = re.compile(r"^\[SSL\] | \(_ssl\.c:\d+\)$")
"""What Python puts around OpenSSL's words."""


def refuses_us(error: Exception) -> bool:
    """True if the other side has ended TLS because of our certificate."""
    _, _, alert = _reason(error).partition("_ALERT_") if isinstance(error, ssl.SSLError) else ("", "", "")
    return any(name in alert for name in _OUR_FAULT)


def is_refusal(error: Exception | None) -> bool:
    """True if one side has refused the other's certificate, so that whoever is there runs."""
    return isinstance(error, ssl.SSLCertVerificationError) or (error is not None and refuses_us(error))


def _reason(error: ssl.SSLError) -> str:
    """OpenSSL's name, such as TLSV1_ALERT_UNKNOWN_CA; where this Python knows none, as its words would make it."""
    return error.reason or _AROUND.sub("", str(error)).upper().replace(" ", "_")


def explain(error: Exception) -> str:
    """Why a connection failed, in words: whose certificate was refused by whom, or what went wrong otherwise."""
    if isinstance(error, ssl.SSLCertVerificationError):
        # OpenSSL's words alone sound as if no such certificate were ever accepted.
        unknown = ", and none that this site's file names" if error.verify_code == SELF_SIGNED else ""
        return f"its certificate is refused: {error.verify_message}{unknown}"
    if not isinstance(error, ssl.SSLError):
        return in_words(error) or "the other side closed the connection"
    reason = _reason(error)
    _, is_alert, alert = reason.partition("_ALERT_")
    if not is_alert:
        return f"TLS failed: {reason.lower().replace('_', ' ')}"
    words = alert.lower().replace("_", " ")
    if refuses_us(error):
        return f"the other side refuses our certificate: {words}"
    return f"the other side ended TLS: {words}"
