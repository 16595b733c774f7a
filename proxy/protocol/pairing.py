"""Which state a lane belongs to. Two halves name it, one drawn by each side (PROTOCOL.md, "Resumption").

A side that loses its streams draws a new half, so a pair of halves never names two states. The answerer decides
whether the dialler's lane joins its state; the dialler finds out from the answer. If several lanes are dialled at once,
the HELLOs of one lane may say what those of another have changed meanwhile: then the lane is refused as surplus, and
dialled again.

So is a lane whose HELLO comes late: a lost packet may hold it back until a new process of the dialler, or its next
state, has come by another lane. Connections are accepted in the order in which they were made, and that tells.
"""

from collections.abc import Callable

from proxy.protocol.codes import CloseCode
from proxy.protocol.errors import HelloRefused
from proxy.protocol.hello import HALF_BYTES, Hello


class Pairing:
    """Our half and the peer's, if there is one."""

    def __init__(self, random: Callable[[int], bytes]) -> None:
        self._random = random
        self.half = random(HALF_BYTES)
        self.other: bytes | None = None
        self._since = float("-inf")  # when the connection was accepted, or its answer came, that brought `other`

    def renew(self) -> None:
        """Our streams are lost: draw a new half, so that no lane joins the old state, and be unpaired."""
        self.half = self._random(HALF_BYTES)
        self.other = None

    def continues(self, theirs: Hello) -> bool:
        """True if the HELLO is of the state that we are paired with, so that its lane would join it."""
        return self.other == theirs.half

    def answer(self, theirs: Hello, accepted: float) -> bool:
        """As answerer: pair with the dialler. False if we were paired with another half, whose streams are lost.

        `accepted`: when the connection was. Raises HelloRefused if a later one has brought another half.
        """
        same = self.other in (None, theirs.half)
        if not same:
            if accepted < self._since:
                raise HelloRefused(CloseCode.SURPLUS, "another half has come by a later connection; dial again")
            self.renew()
        self._pair(theirs.half, accepted)
        return same

    def answered(self, mine: Hello, theirs: Hello, now: float) -> bool:
        """As dialler who sent `mine`: pair with the answerer. False if it has lost the streams that we still have.

        Raises HelloRefused if a later lane has decided otherwise meanwhile.
        """
        if theirs.known_half != mine.half:
            raise HelloRefused(CloseCode.HANDSHAKE, "the answer names another half than ours")
        known, ours_is_new = self.other, mine.half != self.half
        if ours_is_new or known not in (None, mine.known_half, theirs.half):
            raise HelloRefused(CloseCode.SURPLUS, "another lane has come up meanwhile; dial again")
        self._pair(theirs.half, now)
        return known in (None, theirs.half)

    def _pair(self, half: bytes, since: float) -> None:
        if half != self.other:
            self.other, self._since = half, since
