"""DRAIN and LANES: what a side tells the other about itself, and tells again when a lane may have lost it."""

from collections.abc import Iterator, Mapping

from proxy.protocol.codes import FrameType
from proxy.protocol.frames import encode_drain, encode_lanes
from proxy.protocol.reader import encode


class Announcements:
    """What is to be said, and whether it has to be said now. Outlives streams and lanes."""

    def __init__(self) -> None:
        self.draining = ""
        """Why this side drains; empty: it does not."""
        self.due = False
        """DRAIN or LANES has to be sent by the next lane that is ready."""
        self._wish: dict[int, int] = {}
        self._drain_due = self._wish_due = False

    def drain(self, reason: str, lanes: bool) -> None:
        """Begin to drain. `lanes`, here and below: whether there are any; a new lane is told anyway (`greeting`)."""
        self.draining = reason or "draining"
        self._set(lanes, self._wish_due)

    def wish(self, counts: Mapping[int, int], lanes: bool) -> None:
        """This side needs so many lanes of each mark for what it sends."""
        self._wish = dict(counts)
        self._set(self._drain_due, lanes)

    def repeat(self) -> None:
        """A lane was lost, and what it carried may be, too: say everything again."""
        self._set(bool(self.draining), bool(self._wish))

    def forget(self) -> None:
        """Nothing has to be said now: it was said, or all lanes are gone."""
        self._set(drain=False, wish=False)

    def greeting(self) -> Iterator[bytes]:
        """What a new lane begins with: DRAIN. LANES follows when the lane is ready."""
        if self.draining:
            yield self._drain_frame()
        self._set(self._drain_due, bool(self._wish))

    def frames(self, lanes_understood: bool) -> Iterator[bytes]:
        """The frames that are due, and no longer are then. `lanes_understood`: capability LANES was agreed on."""
        if self._drain_due:
            yield self._drain_frame()
        if self._wish_due and lanes_understood:
            yield encode(FrameType.LANES, 0, 0, encode_lanes(self._wish))
        self.forget()

    def _drain_frame(self) -> bytes:
        return encode(FrameType.DRAIN, 0, 0, encode_drain(self.draining))

    def _set(self, drain: bool, wish: bool) -> None:
        self._drain_due, self._wish_due = drain, wish
        self.due = drain or wish
