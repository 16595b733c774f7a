"""What the peer has to be told about streams: ACK and CREDIT, gathered until there is enough to be worth a frame."""

from collections.abc import Iterable, Iterator, Mapping

from proxy.protocol.codes import FrameType
from proxy.protocol.errors import PeerError
from proxy.protocol.foretold import Foretelling
from proxy.protocol.frames import OVER, encode_ack, encode_credit
from proxy.protocol.meter import NEVER
from proxy.protocol.reader import encode
from proxy.protocol.stream import STREAM_RESET, Stream

ACK_BYTES = 512 << 10
ACK_FRAMES = 32
ACK_DELAY = 0.02
"""An ACK is sent after so many bytes, frames or seconds since the first frame that it is for."""
_ENTRIES_MAX = 50_000
"""Entries of one ACK or CREDIT: a frame has at most 1 MiB."""
CREDIT_DELAY = 0.2
"""Seconds after which a CREDIT goes however little was consumed."""
CREDIT_SOON = 0.005
"""The same in seconds, if what was consumed may be much of all that the peer's own settings let it have under way
(`ReceiveWindow.due_soon`). Not at once: it may also be little of that, and then a CREDIT for each batch would cost both
sites some percent of their work."""
OVER_MAX = 1 << 16
"""Answers "the stream is over" that may wait to be sent: more are a flood, for an honest peer asks only about streams
that it has."""


class Notices:
    """Which streams the next ACK and CREDIT are about. What they say is read only when the frame is made.

    `due` frames go by the next lane that has room. Times in seconds.
    """

    def __init__(self, foretelling: Foretelling) -> None:
        self._foretelling = foretelling
        self._foretold = False  # there is something new to foretell
        self._arrived: set[int] = set()  # streams for which the next ACK says what has arrived
        self._over: set[int] = set()  # streams of which the next ACK says that they are over
        self._credited: set[int] = set()  # streams whose credit the next CREDIT tells
        self._recalled: set[int] = set()  # streams that the next CREDIT asks for unused credit
        self._frames = 0  # numbered frames that have arrived since the last ACK
        self._bytes = 0  # bytes of their payloads
        self.ack_at = self.credit_at = NEVER
        """When `tick` will find an ACK due, and a CREDIT."""
        self.due = False
        """A frame has to be sent now."""
        self._credit_due = False  # and a CREDIT is among them

    def arrived(self, stream: int, size: int, now: float) -> None:
        """A numbered frame with that much payload has arrived."""
        self._arrived.add(stream)
        self._frames += 1
        self._bytes += size
        if self._frames >= ACK_FRAMES or self._bytes >= ACK_BYTES:
            self.due = True
        elif self.ack_at == NEVER:
            self.ack_at = now + ACK_DELAY

    def repeated(self, stream: int, now: float) -> None:
        """A frame has arrived again: its sender may not have heard that it did, or sent it by several lanes."""
        self._arrived.add(stream)
        if self.ack_at == NEVER:
            self.ack_at = now + ACK_DELAY

    def asked(self, stream: int) -> None:
        """The peer speaks of a stream that is not live. Raises PeerError if too many answers about such streams wait.

        `over` itself has no limit: live streams that end are few, each ends once, and our own array may be the cause.
        """
        if len(self._over) >= OVER_MAX:
            raise PeerError(
                f"a frame of stream {stream}", f"{OVER_MAX} answers about streams that are over wait already"
            )

    def over(self, stream: int) -> None:
        """The stream is over: have the next ACK say so."""
        self._over.add(stream)
        self.due = True

    def credit(self, stream: int, now: float, *, due: bool = True, soon: bool = False) -> None:
        """Have a CREDIT say what our array has taken of the stream and how far the peer may send.

        It goes at once if `due`, otherwise within CREDIT_SOON if `soon`, otherwise within CREDIT_DELAY.
        """
        self._credited.add(stream)
        if due:
            self.due = self._credit_due = True
        elif soon and self.credit_at > now + CREDIT_SOON:
            self.credit_at = now + CREDIT_SOON
        elif self.credit_at == NEVER:
            self.credit_at = now + CREDIT_DELAY

    def recall(self, streams: Iterable[int]) -> None:
        """Have a CREDIT ask for the credit that these streams do not use."""
        self._recalled.update(streams)
        if self._recalled:
            self.due = self._credit_due = True

    def foretold(self) -> None:
        """There is something new to say about the stream that the peer opens next."""
        self._foretold = self.due = self._credit_due = True

    def acknowledge(self, streams: Iterable[int]) -> None:
        """Have an ACK of these streams go now. The peer answers for those that it has forgotten: they are over."""
        for stream in streams:
            self._arrived.add(stream)
            self.due = True

    def repeat_all(self, streams: Mapping[int, Stream]) -> None:
        """Notices may be lost with a lane: repeat those of all streams."""
        self._arrived.update(streams)
        self._credited.update(streams)
        self._foretold = bool(self._foretelling.entries)  # goes with a CREDIT, but is not worth one of its own
        if streams:
            self.due = self._credit_due = True

    def tick(self, now: float) -> None:
        """Time has passed: what was delayed for long enough is due."""
        if now >= self.ack_at:
            self.due, self.ack_at = True, NEVER
        if now >= self.credit_at:
            self.due, self._credit_due, self.credit_at = True, True, NEVER

    def frames(self, streams: Mapping[int, Stream]) -> Iterator[bytes]:
        """The frames that are due; what they say waits no longer.

        An ACK that would be due soon goes with a CREDIT: sent by itself, it would cost both sites a record of TLS, a
        packet, and the packet that acknowledges that.
        """
        if self.due and (acks := self._take_acks(streams)):
            yield from _ack_frames(acks)
        if self._credit_due and (credits := self._take_credits(streams)):
            yield from _credit_frames(credits)
        self.due = False

    def _take_acks(self, streams: Mapping[int, Stream]) -> list[tuple[int, int]]:
        entries = [(number, streams[number].incoming.expected) for number in self._arrived if number in streams]
        entries += [(number, OVER) for number in self._over]
        self._arrived.clear()
        self._over.clear()
        self._frames = self._bytes = 0
        self.ack_at = NEVER
        return entries

    def _take_credits(self, streams: Mapping[int, Stream]) -> list[tuple[int, int, int]]:
        entries = _credits(streams[number] for number in self._credited if number in streams)
        entries += _recalls(streams[number] for number in self._recalled - self._credited if number in streams)
        if self._foretold:
            entries += self._foretelling.entries
        self._foretold = False
        self._credited.clear()
        self._recalled.clear()
        self.credit_at, self._credit_due = NEVER, False
        return entries

    def greeting(self, streams: Mapping[int, Stream]) -> Iterator[bytes]:
        """What a lane begins with: ACK of all streams, even if there are none; CREDIT of those that are not reset, and
        of the one that the peer opens next, if something was foretold for it."""
        acks = [(number, stream.incoming.expected) for number, stream in streams.items()]
        yield from _ack_frames(acks)
        yield from _credit_frames(_credits(streams.values()) + self._foretelling.entries)


def _ack_frames(entries: list[tuple[int, int]]) -> Iterator[bytes]:
    for start in range(0, max(1, len(entries)), _ENTRIES_MAX):
        yield encode(FrameType.ACK, 0, 0, encode_ack(entries[start : start + _ENTRIES_MAX]))


def _credit_frames(entries: list[tuple[int, int, int]]) -> Iterator[bytes]:
    for start in range(0, len(entries), _ENTRIES_MAX):
        yield encode(FrameType.CREDIT, 0, 0, encode_credit(entries[start : start + _ENTRIES_MAX]))


def _credits(streams: Iterable[Stream]) -> list[tuple[int, int, int]]:
    return [(stream.number, *stream.incoming.window.tell()) for stream in streams if stream.state is not STREAM_RESET]


def _recalls(streams: Iterable[Stream]) -> list[tuple[int, int, int]]:
    return [(stream.number, *stream.incoming.window.recall()) for stream in streams if stream.state is not STREAM_RESET]
