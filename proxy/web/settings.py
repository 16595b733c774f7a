"""How the status listener answers: plain values, from the configuration."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Paths are of files (PEM, or a token); None: there is none."""

    host: str
    """The IP address that it listens on."""
    certificate: Path | None = None
    key: Path | None = None
    token: Path | None = None
    control_token: Path | None = None
    clients: Path | None = None
    names: tuple[str, ...] = ()
    """Host names, in small letters, that a Host header may have."""

    @property
    def local(self) -> bool:
        """Whether only this host reaches the listener."""
        return ip_address(self.host.partition("%")[0]).is_loopback
