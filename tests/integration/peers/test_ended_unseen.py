"""Who ends a connection before it has shown who it is: a scanner, a health check, or a peer that gave up waiting.

None of them was refused, and nobody's certificate is to blame: the log says it, and no event does.
"""

import contextlib
import signal
import socket
import ssl
from collections.abc import Callable

import pytest

from bench.sites import Address, Site
from tests.integration.bed.ends import reset
from tests.integration.bed.sites import Bed, drain
from tests.integration.peers.scripted import Ended, context, dial
from tests.integration.peers.stage import listening, messages, says
from tests.patience import PATIENCE

NOBODY: Address = ("127.0.0.1", 9)
UNSEEN = "ended before it had shown who it is"


def first_message() -> bytes:
    """A ClientHello."""
    tls, out = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.wrap_bio(ssl.MemoryBIO(), out, server_hostname="west").do_handshake()
    return out.read()


def says_nothing(connection: socket.socket) -> None:
    pass


def begins(connection: socket.socket) -> None:
    connection.sendall(first_message()[:100])


def asks(connection: socket.socket) -> None:
    """And reads the certificate that it is shown."""
    connection.sendall(first_message())
    connection.recv(1 << 16)


def resets(connection: socket.socket) -> None:
    asks(connection)
    reset(connection)


def unseen(site: Site, remote: str) -> None:
    """The log has it as what it is, and it is not counted."""
    says(site, remote, UNSEEN)
    assert not [message for message in messages(site) if "refused" in message]
    assert (site.status()["refused"], site.status()["last_refusal"]) == (0, "")


@pytest.mark.parametrize("speak", [says_nothing, begins, asks, resets])
def test_a_look_at_the_port(bed: Bed, speak: Callable[[socket.socket], None]) -> None:
    west = bed.pair(NOBODY).west
    west.start()
    west.wait_ready()
    with socket.create_connection(listening(west), timeout=PATIENCE) as connection:
        remote = f"127.0.0.1:{connection.getsockname()[1]}"
        speak(connection)
    unseen(west, remote)
    drain(west)


def test_peers_that_gave_up_waiting(bed: Bed) -> None:
    """West stood still; what was dialled meanwhile has ended by the time that it is accepted."""
    west = bed.pair(NOBODY).west
    west.start()
    west.wait_ready()
    west.signal(signal.SIGSTOP)
    remotes = []
    for _ in range(20):
        with socket.create_connection(listening(west), timeout=PATIENCE) as connection:
            remotes.append(f"127.0.0.1:{connection.getsockname()[1]}")
            begins(connection)
    west.signal(signal.SIGCONT)
    for remote in remotes:
        unseen(west, remote)
    assert "IST-201" not in west.get("/api/v1/events")[1].decode()
    drain(west)


def test_who_shows_something_wrong_is_refused(bed: Bed) -> None:
    """By either side: an alert says why."""
    west = bed.pair(NOBODY).west
    west.start()
    west.wait_ready()
    with dial(listening(west), context(None)) as lane, contextlib.suppress(Ended):
        lane.receive()
    says(west, "refused", "did not return a certificate")
    distrusting = context(bed.directory / "east")
    distrusting.verify_mode = ssl.CERT_REQUIRED
    with pytest.raises(ssl.SSLCertVerificationError):
        dial(listening(west), distrusting)
    says(west, "refused", "the other side refuses our certificate")
    assert west.status()["refused"] == 2
    drain(west)
