"""Keeps BBR from pausing on one lane: does to its connection what `renewing` and `steadying` decide."""

import socket

from proxy.net.renewing import Renewing
from proxy.net.sockets import BBR, begin_bbr_anew, limit_pace
from proxy.net.steadying import CEILING, ROOM, Act, Steadying
from proxy.net.tcpinfo import Bbr, TcpInfo, bbr_info


class Unpaused:
    """For a connection that uses BBR. Loop thread.

    Each second either `light` or `bulk` is called, and returns the congestion control that is used then.
    """

    def __init__(self, connection: socket.socket, now: float) -> None:
        self._connection = connection
        self._renewing = Renewing(now)
        self._steadying = Steadying(now)
        self._limited = False

    def light(self, info: TcpInfo, now: float) -> str:
        """The lane is for urgent frames, or under a cap, so it does not fill the line (it may have until now)."""
        self._limit(None)
        return begin_bbr_anew(self._connection) if self._renewing.due(info, now) else BBR

    def bulk(self, info: TcpInfo, now: float, calm: bool) -> str:
        """The lane is for bulk. `calm`: nothing urgent has gone lately."""
        bbr = bbr_info(self._connection)
        return BBR if bbr is None else self._do(self._steadying.act(bbr, info, now, calm), bbr)

    def _do(self, act: Act, bbr: Bbr) -> str:
        used = BBR
        if act is Act.BEGIN:
            self._limit(int(CEILING * bbr.rate))
            used = begin_bbr_anew(self._connection)
        if act is Act.LIMIT:
            self._limit(int(ROOM * bbr.rate))
        if act is Act.LIFT or used != BBR:
            self._limit(None)
        return used

    def _limit(self, rate: int | None) -> None:
        if self._limited or rate is not None:
            self._limited = rate is not None
            limit_pace(self._connection, rate)
