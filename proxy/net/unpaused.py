"""Keeps BBR from pausing on one lane: does to its connection what `renewing` and `steadying` decide."""

import socket

from proxy.net.renewing import Renewing, is_much_longer
from proxy.net.sockets import BBR, begin_bbr_anew, limit_pace
from proxy.net.steadying import Act, Steadying, Use
from proxy.net.tcpinfo import TcpInfo, bbr_info


class Unpaused:
    """For a connection that uses BBR. Loop thread.

    Each second either `light` or `bulk` is called, and returns the congestion control that is used then.
    """

    def __init__(self, connection: socket.socket, now: float) -> None:
        self._connection = connection
        self._renewing = Renewing(now)
        self._steadying = Steadying(now)
        self.limited = False
        """The lane's pace has a ceiling, under which BBR looks for the line's rate, and should not run out of data."""

    def light(self, info: TcpInfo, now: float) -> str:
        """The lane is for urgent frames, so it does not fill the line (it may have until now)."""
        self._limit(None)
        self._steadying.ceiling = None  # it may be for bulk again
        return begin_bbr_anew(self._connection) if self._renewing.due(info, now) else BBR

    def bulk(self, info: TcpInfo, now: float, *, calm: bool, capped: bool, held: bool) -> str:
        """The lane is for bulk. `calm`: nothing urgent has gone lately; `capped`: it may be under a cap; `held`: most
        of the time the line held up what there was to send."""
        bbr = bbr_info(self._connection)
        if bbr is None:
            return BBR
        renews = capped and self._renewing.due(info, now) and not is_much_longer(info)
        return self._do(self._steadying.act(bbr, info, now, Use(calm, held, renews)))

    def end(self) -> None:
        """The connection is to use another congestion control: leave nothing that is meant for BBR."""
        self._limit(None)

    def _do(self, act: Act) -> str:
        if act is not Act.NOTHING:
            self._limit(self._steadying.ceiling)
        used = begin_bbr_anew(self._connection) if act is Act.BEGIN else BBR
        if used != BBR:
            self._limit(None)
        return used

    def _limit(self, rate: int | None) -> None:
        if self.limited or rate is not None:
            self.limited = rate is not None
            limit_pace(self._connection, rate)
