"""Judges whether packets of full size pass on the way to a peer.

Some paths lose them without a word: TCP connects, and TLS or HELLO, which are long, are never answered. Then lanes are
dialled with short packets, and a *trial* lane with long ones beside them, to see whether their length was the cause.
"""

import asyncio
from collections.abc import Callable

from proxy.net.lane import Lane
from proxy.net.peer import Peer
from proxy.protocol.codes import CloseCode

_AGAIN = 60.0
"""Seconds after which a trial that showed nothing is made again."""


class LongPackets:
    """Judges by what becomes of the attempts of one dialler. Loop thread."""

    def __init__(self, peer: Peer, begin_trial: Callable[[int], None]) -> None:
        """`begin_trial`: dial a lane of that mark, with long packets."""
        self._peer = peer
        self._begin_trial = begin_trial
        self.seem_lost = False
        """Lanes are to be dialled with short packets."""
        self._again: asyncio.TimerHandle | None = None  # a trial will be made again

    @property
    def short_ones_pass(self) -> bool:
        """True if a lane with short packets is up and not silent."""
        return any(lane.up and lane.short and not lane.silent for lane in self._peer.lanes)

    def look_again(self) -> None:
        """What lost long packets may have been put right: begin a trial if a short lane is up, or assume they pass."""
        if (mark := self._mark_of_short) is not None:
            self._begin_trial(mark)
        else:
            self._pass()

    def answered(self, lane: Lane, *, trial: bool) -> None:
        """The lane has come up, so packets of its length pass, since HELLOs fill them."""
        if trial:
            self._pass()
            for other in self._peer.lanes:
                if other.short:
                    other.close(CloseCode.SURPLUS, "long packets pass after all", needless=True)
        elif lane.short and not self._peer.short_packets:
            self._begin_trial(lane.mark)

    def unanswered(self, lane: Lane, *, connected: bool, trial: bool, short_passed: bool) -> None:
        """The attempt got no answer in time. If TCP had connected, whose packets are short, long ones may be lost.

        `short_passed`: short packets passed when the attempt began. A trial is conclusive only if they still pass.
        """
        if not trial:
            self.seem_lost = connected and not lane.short
        elif short_passed and self.short_ones_pass:
            self._peer.short_packets = connected
            if connected:
                self._call_off()
            else:
                self.failed(trial=True)  # only new connections get no answer
        elif self._mark_of_short is not None:
            self._begin_trial(lane.mark)  # the line was out; a box on the way may have answered TCP

    def failed(self, *, trial: bool) -> None:
        """The attempt failed for another reason than its packets' length. A trial is made again in a while."""
        if trial and self._again is None:
            self._again = asyncio.get_running_loop().call_later(_AGAIN, self._try_again)

    def _try_again(self) -> None:
        self._again = None
        if (mark := self._mark_of_short) is not None:
            self._begin_trial(mark)

    def _call_off(self) -> None:
        """A trial has shown that long packets are lost: none is made again, unless an operator asks."""
        if self._again is not None:
            self._again.cancel()
            self._again = None

    @property
    def _mark_of_short(self) -> int | None:
        """The mark of a lane with short packets that is up; None if there is none."""
        return next((lane.mark for lane in self._peer.lanes if lane.up and lane.short), None)

    def _pass(self) -> None:
        self.seem_lost = self._peer.short_packets = False
