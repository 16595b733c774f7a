"""Why TLS failed, in words; and how much of it may bring no data."""

import asyncio
import itertools
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from proxy.bounded_tls import IDLE_MAX, Idle
from proxy.net.handshake import Handshake, JudgedConnection, explain, refuses_us
from tests.certificates import make

RECORD = 16 << 10


@pytest.mark.parametrize(
    ("reason", "said", "words", "ours"),
    [
        ("TLSV1_ALERT_UNKNOWN_CA", "", "the other side refuses our certificate: unknown ca", True),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "", "the other side ended TLS: handshake failure", False),
        ("WRONG_VERSION_NUMBER", "", "TLS failed: wrong version number", False),
        (None, "tlsv1 alert no application protocol", "the other side ended TLS: no application protocol", False),
        (None, "unheard of", "TLS failed: unheard of", False),
    ],
)
def test_why(reason: str | None, said: str, words: str, ours: bool) -> None:
    """Also where this Python has no name for it, as 3.11 has none for an alert that other programs give us."""
    error = ssl.SSLError(1, f"[SSL] {said} (_ssl.c:1006)")
    error.reason = reason  # type: ignore[assignment]
    assert explain(error) == words
    assert refuses_us(error) is ours


@dataclass
class Talk:
    """A site that has dialled, and another side whose every byte the test carries."""

    site: ssl.SSLObject
    other: ssl.SSLObject
    incoming: ssl.MemoryBIO
    """Of the site."""
    said: ssl.MemoryBIO
    """By the other side."""
    received: bytearray = field(default_factory=bytearray)

    def carry(self, pieces: int) -> None:
        """Bring the site what the other side has said, in pieces of that many bytes; it reads after each."""
        while piece := self.said.read(pieces):
            self.incoming.write(piece)
            with suppress(ssl.SSLWantReadError):
                while self.incoming.pending or self.site.pending():
                    self.received += self.site.read(1 << 20)


def talk(directory: Path, tickets: int) -> Talk:
    """The other side gives so many tickets, each of some 250 bytes, when it is greeted."""
    make(directory / "west", "west")
    answering, dialling = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    answering.load_cert_chain(directory / "west.crt", directory / "west.key")
    answering.num_tickets = tickets
    dialling.check_hostname, dialling.verify_mode = False, ssl.CERT_NONE
    dialling.sslobject_class = JudgedConnection
    there, back, here, out = (ssl.MemoryBIO() for _ in range(4))
    other = answering.wrap_bio(there, back, server_side=True)
    site = Handshake(dialling, asyncio.Timeout(None)).wrap_bio(here, out)
    for side, leaving, arriving in itertools.islice(itertools.cycle([(site, out, there), (other, back, here)]), 4):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
        if side is site or not other.version():
            arriving.write(leaving.read())
    return Talk(site, other, here, back)


def test_messages_of_tls_that_are_no_data_are_bounded(tmp_path: Path) -> None:
    few = talk(tmp_path, IDLE_MAX // 1000)
    few.carry(1000)
    many = talk(tmp_path, IDLE_MAX // 100)
    with pytest.raises(Idle, match="have brought no data"):
        many.carry(1000)


@pytest.mark.parametrize(("sizes", "pieces"), [([1] * 5000, 1000), ([RECORD] * 200, 777), ([RECORD, 1] * 200, 1 << 20)])
def test_data_may_come_in_any_records_and_any_parts_of_these(tmp_path: Path, sizes: list[int], pieces: int) -> None:
    found = talk(tmp_path, 2)
    for size in sizes:
        found.other.write(bytes(size))
    found.carry(pieces)
    assert len(found.received) == sum(sizes)
