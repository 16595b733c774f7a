"""What a lane's other end has shown is known as long as the lane is, however its TLS ends."""

import asyncio
import contextlib
import socket
import ssl
from pathlib import Path
from typing import Any

import uvloop

from proxy.net.lane import Lane
from tests.certificates import make


class Owner:
    """Who asks whose lane it was when it is lost."""

    def __init__(self) -> None:
        self.shown: tuple[bytes, dict[str, object]] | None = None
        self.reason = ""

    def lost(self, lane: Lane, reason: str) -> None:
        self.shown, self.reason = lane.certificate, reason


def refuse(listener: socket.socket, theirs: ssl.SSLContext) -> None:
    """One connection, by the alert that its certificate calls for."""
    connection, _ = listener.accept()
    with contextlib.suppress(ssl.SSLError), connection:
        theirs.wrap_socket(connection, server_side=True)


async def refused(ours: ssl.SSLContext, theirs: ssl.SSLContext) -> Owner:
    """Of a lane to whoever refuses it: in TLS 1.3 that is heard of once the connection is up."""
    owner, loop = Owner(), asyncio.get_running_loop()
    lane = Lane(owner, dialler=True)  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = asyncio.create_task(asyncio.to_thread(refuse, listener, theirs))
        await loop.create_connection(lambda: lane, *listener.getsockname(), ssl=ours, server_hostname="west")
        await asyncio.gather(refusing, lane.settled.wait())
    return owner


def context(purpose: Any, own: Path, trusted: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(purpose)
    made.load_cert_chain(own.with_suffix(".crt"), own.with_suffix(".key"))
    made.load_verify_locations(trusted.with_suffix(".crt"))
    made.verify_mode = ssl.CERT_REQUIRED
    return made


def test_a_certificate_is_known_after_an_alert_has_ended_tls(tmp_path: Path) -> None:
    east, west = tmp_path / "east", tmp_path / "west"
    make(east, "east")
    make(west, "west")
    ours = context(ssl.PROTOCOL_TLS_CLIENT, east, trusted=west)
    theirs = context(ssl.PROTOCOL_TLS_SERVER, west, trusted=west)
    owner = uvloop.run(refused(ours, theirs))
    assert owner.shown is not None
    assert owner.shown[0] == ssl.PEM_cert_to_DER_cert(west.with_suffix(".crt").read_text())
    assert owner.shown[1]["subject"] == ((("commonName", "west"),),)
    assert "alert" in owner.reason or "refuse" in owner.reason, owner.reason
