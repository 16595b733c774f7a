"""What sites say of why they are slow, and a source that never has enough."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from bench.sites import Address, Site
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import READ_BYTES, Arrival, connect, hang_up
from tests.patience import PATIENCE

_CONTENT = 64 << 20
_WRITE = 256 << 10


def limited_by(site: Site, *limits: str, words: str = "") -> dict[str, Any]:
    """Wait until both the first stream and its tunnel are limited by one of these, and say so: the stream's status."""
    found: dict[str, Any] = {}

    def said() -> bool:
        found.update(site.status())
        limited = [*found["streams"][:1], *found["peers"]]
        verdicts = [entry["verdict"] for entry in limited]
        return len(limited) == 2 and all(v["limit"] in limits and words in v["words"] for v in verdicts)

    site.wait_for(said, f"is not limited by {' or '.join(limits)}", PATIENCE)
    stream: dict[str, Any] = found["streams"][0]
    return stream


def discard(arrival: Arrival) -> None:
    """An array that takes everything, as fast as it comes, and keeps nothing."""
    room = bytearray(READ_BYTES)
    while arrival.connection.recv_into(room):
        pass


@contextlib.contextmanager
def pouring(address: Address) -> Iterator[None]:
    """An array that sends as fast as it can, nothing that was there before, until it is told to stop."""
    connection = connect(address)
    thread = threading.Thread(target=_pour, args=[connection], name="source", daemon=True)
    thread.start()
    try:
        yield
    finally:
        hang_up(connection)
        thread.join()


def _pour(connection: Any) -> None:
    content = memoryview(bytearray(volume("source", _CONTENT)))
    connection.settimeout(None)
    number = 0
    with contextlib.suppress(OSError):
        while True:
            for at in range(0, _CONTENT, _WRITE):
                content[at : at + 8] = number.to_bytes(8, "big")
                number += 1
                connection.sendall(content[at : at + _WRITE])
