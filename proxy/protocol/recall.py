"""Asks streams at rest for the credit that they do not use, while others lack it (PROTOCOL.md, "Waivers").

An array keeps its connections for days, and the credit that each was granted while it was busy would be missing where
it is busy now.
"""

from collections.abc import Iterator, Mapping

from proxy.protocol.events import Recalled
from proxy.protocol.notices import Notices
from proxy.protocol.stream import Stream
from proxy.protocol.window import WindowBudget


class Recall:
    """Of one tunnel: asks the peer for credit that it does not use (`tick`), and notes when it asks for ours (`heard`).

    Neither is to be called if the capability WAIVERS was not agreed on.
    """

    def __init__(self, every: float, budget: WindowBudget, live: Mapping[int, Stream], notices: Notices) -> None:
        """`every`: seconds between two looks; a stream that uses next to nothing from one to the next is at rest."""
        self._every = every
        self._budget = budget
        self._live = live
        self._notices = notices
        self._again_at = 0.0
        self._heard: dict[int, tuple[int, int]] = {}  # by stream number: `consumed` and `limit` of a CREDIT that asks

    def tick(self, now: float) -> None:
        """Time has passed: ask back what the peer does not use, if a stream was denied growth since the last look, or
        more was given than there is."""
        if now < self._again_at or not (self._budget.denied or self._budget.overdrawn):
            return
        self._again_at = now + self._every
        self._budget.denied = False
        self._notices.recall(number for number, stream in self._live.items() if stream.incoming.window.rests())

    def heard(self, stream: Stream, consumed: int, limit: int) -> None:
        """Take an entry of CREDIT, which may ask for our credit. Of several entries for one stream the last counts."""
        if stream.outgoing.recalled(consumed, limit):
            self._heard[stream.number] = consumed, limit

    def told(self) -> Iterator[Recalled]:
        """The events for all streams whose credit the peer has asked for since the last call."""
        for stream, (consumed, limit) in self._heard.items():
            yield Recalled(stream, consumed, limit)
        self._heard.clear()
