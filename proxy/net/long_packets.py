"""Judges whether packets of full size pass on the way to a peer.

Some paths lose them without a word: TCP connects, and TLS or HELLO, which are long, are never answered. Then lanes are
dialled with short packets, and a *trial* lane with long ones beside them, to see whether their length was the cause.
"""

from collections.abc import Callable

from proxy.net.lane import Lane
from proxy.net.peer import Peer
from proxy.protocol.codes import CloseCode


class LongPackets:
    """Judges by what becomes of the attempts of one dialler. Loop thread."""

    def __init__(self, peer: Peer, begin_trial: Callable[[int], None]) -> None:
        """`begin_trial`: dial a lane of that mark, with long packets."""
        self._peer = peer
        self._begin_trial = begin_trial
        self.seem_lost = False
        """Lanes are to be dialled with short packets."""

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

    def try_again(self) -> None:
        """A trial showed nothing a while ago: begin another, unless one has shown since that long packets are lost."""
        mark = self._mark_of_short
        if mark is not None and not self._peer.short_packets:
            self._begin_trial(mark)

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
        elif self._mark_of_short is not None:
            self._begin_trial(lane.mark)  # the line was out; a box on the way may have answered TCP

    @property
    def _mark_of_short(self) -> int | None:
        """The mark of a lane with short packets that is up; None if there is none."""
        return next((lane.mark for lane in self._peer.lanes if lane.up and lane.short), None)

    def _pass(self) -> None:
        self.seem_lost = self._peer.short_packets = False
