"""Passes payload to the encoder and forces the chunk borders that volume addresses call for, so that chunks do not
depend on the order of commands.

Arrays send what lies together on a volume in commands of any size and order. A chunk that reached from one command's
data into the next one's would be found again only where the same two meet. So a chunk ends at a *jump*, where an
address does not continue what came before, and at each multiple of WINDOW on the volume. Between these content decides,
but not in the window's last bytes, where it would leave a short chunk at the end. Several small commands share a chunk.
DECISIONS.md, "iSCSI: reduction", has what other windows find.
"""

from dedupstore.chunker import MINIMUM
from proxy.iscsi.span import Address
from proxy.reduction.course import Mark
from proxy.reduction.encoder import FAR, READ_BYTES, Encoder

WINDOW = 64 << 10
"""Bytes of the volume: bulk comes in commands of at least this length, and longer ones begin at multiples of it."""
_WITHIN = WINDOW - 1

APART_MIN = MINIMUM
"""A jump makes a border if the last one is at least so many bytes back: shorter chunks would fill a container's
directory before its room."""
APART_LEAST = 512
"""The same for a window's end, and for a jump to a PDU of APART_MIN bytes or more: so small writes between long ones do
not become part of their chunks. It is most arrays' logical block, and the least that `Encoder.border` allows."""

_MARKS = 128
"""Addresses at which data broke off that are remembered: one for each command, or each burst of one."""

_NO_ROOM = memoryview(b"")


class Payload:
    """One direction of one stream. Loop thread."""

    def __init__(self, encoder: Encoder) -> None:
        self.given = 0
        """Bytes that have come so far."""
        self.coming = 0
        """Bytes of payload that the present PDU has in all; `SpanEncoder` sets it."""
        self._encoder = encoder
        self._course = encoder.course
        self._apart = max(APART_LEAST, min(APART_MIN, encoder.shortest))  # in less, content has made no border either
        self._next: Address | None = None  # of the byte after the last one
        self._marks: dict[Address, Mark] = {}
        self._bordered = 0  # `given` at the last border
        self._window = FAR  # `given` at the end of the window
        self._room = _NO_ROOM  # the part of the encoder's buffer that is being filled
        self._filled = 0  # bytes of that

    def place(self, data: memoryview, address: Address | None) -> None:
        """Take bytes that belong at that address of a volume; None: at an unknown one. They may change afterwards."""
        if address is None:
            self.lose_sight()
            self.pour(data)
            return
        if address != self._next:
            self._jump(address)
        at, end = 0, len(data)
        self._next = address + end
        room = WINDOW - (address & _WITHIN)
        while at + room <= end:
            piece = data[at : at + room]
            self._window = self.given + room
            if self._bordered == self.given and room >= APART_LEAST:
                self._encoder.whole(piece)  # without a copy
                self.given = self._bordered = self._window
            else:
                self.pour(piece)
                self._border(APART_LEAST)
            at, room = at + room, WINDOW
        self._window = self.given + room
        if at < end:
            self.pour(data[at:])

    def lose_sight(self) -> None:
        """Where on a volume the next bytes belong is not known: no window's end is near any more.

        What has come is cut before that, by the rule that it was delivered by: no border by content near the window's
        end.
        """
        if self._next is not None:
            self._jump(None)
        self._next, self._window = None, FAR

    def pour(self, piece: memoryview) -> None:
        """Copy into the encoder's buffer. Chunks are cut when that is full, or by `settle`: not for each PDU."""
        while len(piece) > (left := len(self._room) - self._filled):
            if left:
                self._fill(piece[:left])
                piece = piece[left:]
            self.settle()
            self._room = self._encoder.buffer(READ_BYTES)
        self._fill(piece)

    def settle(self, *, lazy: bool = True) -> None:
        """Give the encoder what was poured. `lazy`: it cuts chunks only when more has come, or a border is forced."""
        if self._filled or not lazy:
            self._encoder.border_in = self._window - self.given
            self._encoder.received(self._filled, lazy=lazy)
            self._filled, self._room = 0, _NO_ROOM

    def shrink(self) -> None:
        """As `Encoder.shrink`, if all that has come is settled; otherwise nothing is done."""
        if not self._filled:
            self._room = _NO_ROOM
            self._encoder.shrink()

    def _fill(self, piece: memoryview) -> None:
        end = self._filled + len(piece)
        self._room[self._filled : end] = piece
        self._filled = end
        self.given += len(piece)

    def _jump(self, address: Address | None) -> None:
        """The address does not continue: one command breaks off, and another begins, or goes on where it broke off."""
        left = self._next
        if not self._border(APART_LEAST if self.coming >= APART_MIN else self._apart):
            return
        if left is not None:
            self._marks[left] = self._course.mark
        mark = self._marks.pop(address, None) if address is not None else None
        if mark is not None:
            self._course.mark = mark
        elif len(self._marks) > _MARKS:
            del self._marks[next(iter(self._marks))]

    def _border(self, run: int) -> bool:
        """Force a border here if the last one is `run` bytes back or more. True if there is one here."""
        self.settle()
        if self.given - self._bordered >= run:
            self._encoder.border_in = self._window - self.given
            self._encoder.border()
            self._bordered = self.given
        return self._bordered == self.given
