"""Credit that streams at rest do not use, asked back while others lack it (PROTOCOL.md, "Waivers").

An array keeps its connections for days, and what each was granted while it was busy would be lacking to the one that is
busy now.
"""

from collections.abc import Mapping

from proxy.protocol.credit import WindowBudget
from proxy.protocol.notices import Notices
from proxy.protocol.stream import State, Stream


class Recall:
    """Of one tunnel."""

    def __init__(self, every: float, budget: WindowBudget, live: Mapping[int, Stream], notices: Notices) -> None:
        """`every`: seconds between two looks; who has used next to nothing from one to the next is at rest."""
        self._every = every
        self._budget = budget
        self._live = live
        self._notices = notices
        self._again_at = 0.0

    def tick(self, now: float) -> None:
        """Time has passed."""
        if now < self._again_at or not self._budget.denied:
            return
        self._again_at = now + self._every
        self._budget.denied = False
        live = self._live.items()
        self._notices.recall(
            number for number, stream in live if stream.state is not State.OVER and stream.incoming.window.rests()
        )
