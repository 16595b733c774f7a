"""What a side tells the other about itself, and again when a lane may have lost it: DRAIN, and LANES."""

from collections.abc import Iterator, Mapping

from proxy.protocol.codes import FrameType
from proxy.protocol.frames import encode_drain, encode_lanes
from proxy.protocol.reader import encode


class Announcements:
    """They outlive streams and lanes."""

    def __init__(self) -> None:
        self.draining = ""
        """Why this side drains; empty: it does not."""
        self.due = False
        """True if one has to be sent by the next lane that is ready."""
        self._wish: dict[int, int] = {}
        self._drain_due = self._wish_due = False

    def drain(self, reason: str, lanes: bool) -> None:
        """Begin to drain. `lanes`, here and below: there are some; a lane that comes up is told anyway."""
        self.draining = reason or "draining"
        self._set(lanes, self._wish_due)

    def wish(self, counts: Mapping[int, int], lanes: bool) -> None:
        """So many lanes of each mark are needed for what this side sends."""
        self._wish = dict(counts)
        self._set(self._drain_due, lanes)

    def repeat(self) -> None:
        """What was told may be lost."""
        self._set(bool(self.draining), bool(self._wish))

    def forget(self) -> None:
        """All lanes are gone."""
        self._set(drain=False, wish=False)

    def greeting(self) -> Iterator[bytes]:
        """What a new lane begins with; the wish follows when it is ready."""
        if self.draining:
            yield self._drain_frame()
        self._set(self._drain_due, bool(self._wish))

    def frames(self, lanes_understood: bool) -> Iterator[bytes]:
        """What is due, which no longer is then. `lanes_understood`: the other side knows the frame LANES."""
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
