"""Bounds what of TLS is no data: updates of keys, or tickets.

Such messages take 25 us and more for 27 bytes, end within the TLS library, and are taken in one go with all that has
come: so whoever sends nothing else has the event loop do nothing else.
"""

import ssl
from typing import Any

IDLE_MAX = 64 << 10
"""Bytes that may have come without bringing data: more than the longest record, of which a part may have come."""
BARRED_SECONDS = 60.0
"""For how long whoever has sent more is not let in. What one read brings, up to 256 KiB, takes a quarter of a second
and more before it is noticed, and one could connect again at once."""
_AROUND_DATA = 32
"""Bytes of TLS around the data of a record, at most."""


class Idle(ssl.SSLError):
    """More than IDLE_MAX bytes of TLS have come that are no data."""

    reason = ""
    """OpenSSL has no name for it."""


class BoundedConnection(ssl.SSLObject):
    """One connection. Whoever makes it says what `incoming` is."""

    incoming: ssl.MemoryBIO
    flooded = False
    """Idle was raised."""
    _idle = 0
    """Bytes that brought no data, as far as no data has come since that they may belong to."""

    def read(self, most: int = 1024, buffer: Any = None) -> Any:
        """As SSLObject. Raises Idle."""
        incoming = self.incoming
        pending = incoming.pending
        try:
            got: Any = super().read(most, buffer)
        except ssl.SSLWantReadError:
            self._weigh(pending - incoming.pending)
            raise
        idle = pending - incoming.pending - (len(got) if buffer is None else got) - _AROUND_DATA
        if idle > 0 or self._idle:  # mostly neither
            self._weigh(idle)
        return got

    def _weigh(self, idle: int) -> None:
        """So many more bytes have brought no data; below 0: data has come that as many may belong to."""
        self._idle = max(0, self._idle + idle)
        if self._idle > IDLE_MAX:
            self.flooded = True
            raise Idle(ssl.SSL_ERROR_SSL, f"{self._idle} bytes of TLS have brought no data")


class BoundedContext(ssl.SSLContext):
    """Makes such connections."""

    sslobject_class = BoundedConnection

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **more: Any) -> ssl.SSLObject:
        """As SSLContext."""
        connection = super().wrap_bio(incoming, outgoing, *args, **more)
        assert isinstance(connection, BoundedConnection)
        connection.incoming = incoming
        return connection
