"""DRAIN, LANES and STORE: what a side tells the other about itself, and tells again when a lane may have lost it."""

from collections.abc import Callable, Iterator, Mapping

from proxy.protocol.codes import Capability, FrameType
from proxy.protocol.frames import encode_drain, encode_lanes, encode_store
from proxy.protocol.reader import encode


class Announcements:
    """What this side announces, and which of it has to be sent now. Outlives streams and lanes."""

    def __init__(self) -> None:
        self.draining = ""
        """Why this side drains; empty: it does not."""
        self._wish: dict[int, int] = {}
        self._store_rate: int | None = None
        self.due: set[FrameType] = set()
        """Types of the frames that the next lane that is ready has to send."""

    def drain(self, reason: str, lanes: bool) -> None:
        """Begin to drain. `lanes`, here and below: whether there are any. A new lane says everything (`greeting`)."""
        self.draining = reason or "draining"
        self._say(FrameType.DRAIN, lanes)

    def wish(self, counts: Mapping[int, int], lanes: bool) -> None:
        """Announce how many lanes of each mark this side needs for what it sends."""
        self._wish = dict(counts)
        self._say(FrameType.LANES, lanes)

    def tell_store_rate(self, rate: int, lanes: bool) -> None:
        """Announce how many bytes a second this side's store gives of what is referred to."""
        self._store_rate = rate
        self._say(FrameType.STORE, lanes)

    def repeat(self) -> None:
        """A lane was lost, perhaps with announcements: have everything sent again."""
        self.due = {FrameType.DRAIN} if self.draining else set()
        self.due |= self._of_ready_lanes

    def forget(self) -> None:
        """Have nothing due: everything was sent, or all lanes are gone."""
        self.due.clear()

    def greeting(self) -> Iterator[bytes]:
        """What a new lane begins with: DRAIN. The rest follows when the lane is ready."""
        if self.draining:
            yield self._drain_frame()
        self.due |= self._of_ready_lanes

    def frames(self, agreed: Callable[[Capability], bool]) -> Iterator[bytes]:
        """The frames that are due; afterwards nothing is. `agreed`: whether a capability was agreed on."""
        if FrameType.DRAIN in self.due:
            yield self._drain_frame()
        if FrameType.LANES in self.due and agreed(Capability.LANES):
            yield encode(FrameType.LANES, 0, 0, encode_lanes(self._wish))
        if FrameType.STORE in self.due and self._store_rate is not None and agreed(Capability.STORE_RATE):
            yield encode(FrameType.STORE, 0, 0, encode_store(self._store_rate))
        self.forget()

    @property
    def _of_ready_lanes(self) -> set[FrameType]:
        """Types of the announcements there are that only a ready lane carries."""
        lanes = {FrameType.LANES} if self._wish else set()
        return lanes if self._store_rate is None else lanes | {FrameType.STORE}

    def _drain_frame(self) -> bytes:
        return encode(FrameType.DRAIN, 0, 0, encode_drain(self.draining))

    def _say(self, kind: FrameType, lanes: bool) -> None:
        """Have the announcement sent now if there are lanes; otherwise a new lane says it."""
        self.due.discard(kind)
        if lanes:
            self.due.add(kind)
