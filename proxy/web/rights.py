"""Who may read, and who may drain and reload: tokens from files, client certificates by TLS."""

import asyncio
import hmac
import ssl
from functools import partial
from typing import NamedTuple

from proxy.aside import DISK_SECONDS, UNANSWERED, aside
from proxy.bounded_tls import BoundedContext
from proxy.errors import ExitCode, OperatorError
from proxy.identity import read_token
from proxy.web.routes import Right
from proxy.web.settings import Settings


class _Files(NamedTuple):
    """What was read from the files, at one time."""

    context: ssl.SSLContext | None
    reading: bytes | None
    control: bytes | None


class Rights:
    """Says who has which right. Loop thread. Raises OperatorError if files cannot be used as it is made."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = _read(settings)

    @property
    def context(self) -> ssl.SSLContext | None:
        """The listener's TLS context; None: plain HTTP."""
        return self._files.context

    @property
    def open_to_read(self) -> bool:
        """Whether reading needs neither a token nor a certificate."""
        return self._files.reading is None and self._settings.clients is None

    async def reload(self) -> None:
        """Read all files anew, on another thread since disks take time. Raises OperatorError, and then keeps what is in
        use."""
        try:
            reading = asyncio.wrap_future(aside(partial(_read, self._settings), "reloading"))
            self._files = await asyncio.wait_for(reading, DISK_SECONDS)
        except OSError as error:  # TimeoutError, or no thread
            words = f"the status listener's certificates and tokens cannot be read: {str(error) or UNANSWERED}"
            raise OperatorError(words, ExitCode.CONFIGURATION) from None

    def granted(self, right: Right, authorization: str, certificate: object) -> bool:
        """Whether the header and the verified client certificate (None without) give that right."""
        if right is Right.NONE or self._shows_control(authorization):
            return True
        may_read = self.open_to_read or self._shows_reading(authorization, certificate)
        return may_read and (right is Right.READ or (self._files.control is None and self._settings.local))

    def shown(self, authorization: str, certificate: object) -> bool:
        """Whether the header or the certificate gives any right: whoever shows such a one is no stranger."""
        return self._shows_control(authorization) or self._shows_reading(authorization, certificate)

    def refusable(self, right: Right) -> bool:
        """Whether that right is given to nobody, because no token is configured for it."""
        return right is Right.CONTROL and self._files.control is None and not self._settings.local

    def _shows_control(self, authorization: str) -> bool:
        return self._files.control is not None and _same(_bearer(authorization), self._files.control)

    def _shows_reading(self, authorization: str, certificate: object) -> bool:
        known = self._files.reading is not None and _same(_bearer(authorization), self._files.reading)
        return known or (self._settings.clients is not None and bool(certificate))


def _read(settings: Settings) -> _Files:
    reading = read_token(settings.token, "status.token") if settings.token else None
    control = read_token(settings.control_token, "status.control_token") if settings.control_token else None
    return _Files(_context(settings), reading, control)


def _bearer(authorization: str) -> bytes:
    scheme, _, token = authorization.partition(" ")
    return token.strip().encode(errors="replace") if scheme.lower() == "bearer" else b""


def _same(token: bytes, wanted: bytes) -> bool:
    """Whether both are equal, in a time that does not tell how much of the token is right."""
    return hmac.compare_digest(token, wanted)


def _context(settings: Settings) -> ssl.SSLContext | None:
    if settings.certificate is None or settings.key is None:
        return None
    context = BoundedContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(settings.certificate, settings.key, password=lambda: "")
        if settings.clients is not None:
            context.verify_mode = ssl.CERT_OPTIONAL  # who shows none may have a token
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            context.load_verify_locations(settings.clients)
    except (OSError, ValueError) as error:
        words = f"the status listener's certificates cannot be used: {error}; see status.certificate, key and clients"
        raise OperatorError(words, ExitCode.CONFIGURATION) from None
    return context
