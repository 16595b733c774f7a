"""DRAIN, LANES and STORE: what a side tells the other about itself, and tells again when a lane may have lost it."""

from collections.abc import Callable, Iterator, Mapping

from proxy.protocol.codes import Capability, FrameType
from proxy.protocol.frames import encode_drain, encode_lanes, encode_store
from proxy.protocol.reader import encode


class Announcements:
    """What is to be said, and whether it has to be said now. Outlives streams and lanes."""

    def __init__(self) -> None:
        self.draining = ""
        """Why this side drains; empty: it does not."""
        self._wish: dict[int, int] = {}
        self._store_rate: int | None = None
        self.due: set[FrameType] = set()
        """What has to be sent by the next lane that is ready."""

    def drain(self, reason: str, lanes: bool) -> None:
        """Begin to drain. `lanes`, here and below: whether there are any; a new lane is told anyway (`greeting`)."""
        self.draining = reason or "draining"
        self._say(FrameType.DRAIN, lanes)

    def wish(self, counts: Mapping[int, int], lanes: bool) -> None:
        """This side needs so many lanes of each mark for what it sends."""
        self._wish = dict(counts)
        self._say(FrameType.LANES, lanes)

    def tell_store_rate(self, rate: int, lanes: bool) -> None:
        """This side's store gives so many bytes a second of what is referred to."""
        self._store_rate = rate
        self._say(FrameType.STORE, lanes)

    def repeat(self) -> None:
        """A lane was lost, and what it carried may be, too: say everything again."""
        self.due = {FrameType.DRAIN} if self.draining else set()
        self.due |= self._of_ready_lanes

    def forget(self) -> None:
        """Nothing has to be said now: it was said, or all lanes are gone."""
        self.due.clear()

    def greeting(self) -> Iterator[bytes]:
        """What a new lane begins with: DRAIN. The rest follows when the lane is ready."""
        if self.draining:
            yield self._drain_frame()
        self.due |= self._of_ready_lanes

    def frames(self, agreed: Callable[[Capability], bool]) -> Iterator[bytes]:
        """The frames that are due, and no longer are then. `agreed`: whether a capability was."""
        if FrameType.DRAIN in self.due:
            yield self._drain_frame()
        if FrameType.LANES in self.due and agreed(Capability.LANES):
            yield encode(FrameType.LANES, 0, 0, encode_lanes(self._wish))
        if FrameType.STORE in self.due and self._store_rate is not None and agreed(Capability.STORE_RATE):
            yield encode(FrameType.STORE, 0, 0, encode_store(self._store_rate))
        self.forget()

    @property
    def _of_ready_lanes(self) -> set[FrameType]:
        """What there is to say that only a lane that is ready carries."""
        lanes = {FrameType.LANES} if self._wish else set()
        return lanes if self._store_rate is None else lanes | {FrameType.STORE}

    def _drain_frame(self) -> bytes:
        return encode(FrameType.DRAIN, 0, 0, encode_drain(self.draining))

    def _say(self, kind: FrameType, lanes: bool) -> None:
        """Now, if there are lanes; otherwise a new one is told."""
        self.due.discard(kind)
        if lanes:
            self.due.add(kind)
