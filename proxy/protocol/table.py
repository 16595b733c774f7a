"""Which stream numbers are live, which are over and which have not come yet, in memory that the live ones bound."""

from proxy.protocol.errors import PeerError
from proxy.protocol.frames import NUMBER_MAX
from proxy.protocol.stream import STREAM_RESET, Stream


class StreamTable:
    """All streams of a tunnel that are not forgotten.

    A number that the peer has skipped may still come by another lane. Every other number up to the highest one seen is
    live or over, so nothing need be remembered of streams that are over.
    """

    def __init__(self, odd: bool, skipped_max: int) -> None:
        """`odd`: this side's streams have odd numbers. `skipped_max`: how many streams the peer may have, since an
        honest one skips no more numbers than that."""
        self.live: dict[int, Stream] = {}
        """By number. Those that this side has reset stay until the peer acknowledges that."""
        self.own = 0
        """How many of `live` we opened."""
        self.theirs = 0
        """How many of `live` the peer opened and we have not reset."""
        self.refused = 0
        """How many of `live` the peer opened and we have reset."""
        self._parity = 1 if odd else 0
        self._next = 1 if odd else 2
        self._highest = 0 if odd else -1  # of the peer's; its first number is two more
        self._skipped: set[int] = set()
        self._skipped_max = skipped_max

    def is_own(self, number: int) -> bool:
        """True if we are the side that opens such numbers."""
        return number & 1 == self._parity

    def was_never(self, number: int) -> bool:
        """True if there never was such a stream: we have not opened it, or no numbered frame of it has come."""
        if self.is_own(number):
            return number >= self._next or number == 0
        return number > self._highest or number in self._skipped or number == 0

    def meet(self, number: int) -> None:
        """The first frame of a stream of the peer has come. Raises PeerError if the peer skips too many numbers."""
        if number in self._skipped:
            self._skipped.remove(number)
            return
        skipped = (number - self._highest) // 2 - 1
        if len(self._skipped) + skipped > self._skipped_max:
            raise PeerError(
                f"stream {number}", f"it skips {skipped} numbers; at most {self._skipped_max} may be missing"
            )
        self._skipped.update(range(self._highest + 2, number, 2))
        self._highest = number

    def theirs_ending(self) -> int:
        """How many of `theirs` only wait to hear that they are over. Looks at each live stream."""
        theirs = [stream for stream in self.live.values() if not (stream.own or stream.state is STREAM_RESET)]
        return sum(stream.waits_for_end for stream in theirs)

    @property
    def next_theirs(self) -> int:
        """The lowest number of the peer's above all that were seen."""
        return self._highest + 2

    @property
    def next_number(self) -> int | None:
        """The number of our next stream; None if all have been used."""
        return self._next if self._next <= NUMBER_MAX else None

    def add(self, stream: Stream) -> None:
        """A stream begins."""
        self.live[stream.number] = stream
        if stream.own:
            self._next = stream.number + 2
        self._count(stream, 1)

    def reset(self, stream: Stream, payload: bytes) -> None:
        """End a stream from this side; it stays until the peer acknowledges that."""
        self._count(stream, -1)
        stream.reset(payload)
        self._count(stream, 1)

    def forget(self, stream: Stream) -> None:
        """A stream is over: hold nothing of it any more."""
        del self.live[stream.number]
        self._count(stream, -1)
        stream.close()

    def _count(self, stream: Stream, change: int) -> None:
        if stream.own:
            self.own += change
        elif stream.state is STREAM_RESET:
            self.refused += change
        else:
            self.theirs += change
