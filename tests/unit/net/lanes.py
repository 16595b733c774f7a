"""A tunnel that nothing goes through, and lanes that are as a test says."""

from dataclasses import dataclass, field
from typing import cast

from proxy.net.lane import Lane
from proxy.net.lanes import Lanes
from proxy.net.sockets import BBR
from proxy.net.tcpinfo import TcpInfo
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.tunnel import Tunnel


class IdleTunnel(Tunnel):
    """From east to west."""

    def __init__(self) -> None:
        super().__init__(TunnelSettings(), "east", "west", bytes(16), [bytes(8)], 0.0)


@dataclass
class FakeLane:
    """One that is up; it notes what it is given to write, and how BBR is treated."""

    number: int = 1
    mark: int = 0
    free: int = 0
    """Bytes that it has room for."""
    info: TcpInfo = field(default_factory=TcpInfo)
    congestion_control: str = BBR
    written: list[bytes] = field(default_factory=list)
    light: bool = False
    calm: bool = False
    capped: bool = False
    told: list[str] = field(default_factory=list)
    """How it is used, in that order."""

    up, silent, grain = True, False, 16 << 10

    def room(self) -> int:
        return self.free

    def write(self, frames: list[bytes]) -> None:
        self.written += frames

    def tcp_info(self) -> TcpInfo:
        return self.info

    def unpause(self, now: float, *, light: bool, calm: bool, capped: bool) -> None:
        self.told.append("unpause")
        self.light, self.calm, self.capped = light, calm, capped

    def stand_apart(self, apart: bool, *, late: bool) -> None:
        self.told.append("apart" if apart else "not apart")


def lanes_of(tunnel: Tunnel, *lanes: FakeLane, fixed: int | None = None) -> Lanes:
    """What the tunnel has, once these have come up; `fixed`: the number that is configured."""
    found = Lanes(tunnel, fixed)
    for lane in lanes:
        found.add(cast(Lane, lane))
    return found
