"""Who has a lane, and how its TLS is set up."""

import ssl
from pathlib import Path
from typing import Any

from proxy.net.lane import Lane


class Owner:
    """Who asks whose lane it was when it is lost."""

    def __init__(self) -> None:
        self.shown: tuple[bytes, dict[str, object]] | None = None
        self.reason = ""

    def lost(self, lane: Lane, reason: str) -> None:
        self.shown, self.reason = lane.certificate, reason


def context(purpose: Any, own: Path, trusted: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(purpose)
    made.load_cert_chain(own.with_suffix(".crt"), own.with_suffix(".key"))
    made.load_verify_locations(trusted.with_suffix(".crt"))
    made.verify_mode = ssl.CERT_REQUIRED
    return made
