"""Payload on its way into the encoder, with the borders that addresses call for: so that no order of commands matters.

Arrays send what lies together in commands of any size and order. A chunk that reached from one command's data into the
next one's would be found again only where the same two meet. So a chunk ends where an address does not continue what
came before, and at each multiple of WINDOW on the volume; between them content decides, but for the window's last
bytes, which would seldom make a chunk of some length. Of small commands several share a chunk. ARCHITECTURE.md has what
other windows find.
"""

from dedupstore.chunker import MINIMUM
from proxy.iscsi.span import Address
from proxy.reduction.course import Mark
from proxy.reduction.encoder import FAR, READ_BYTES, Encoder

WINDOW = 64 << 10
"""Bytes of the volume: the shortest commands that bulk goes by, and what longer ones begin at."""
_WITHIN = WINDOW - 1

APART_MIN = MINIMUM
"""Bytes between two jumps that are borders: shorter chunks would fill a store's directories with little."""
APART_LEAST = 512
"""So many will do before a PDU of that length, so that small writes between long ones spoil no chunk of these, and at a
window's end. It is what most arrays take for a logical block; the encoder's batches take no less."""

_MARKS = 128
"""So many addresses are remembered at which data broke off: a command each, or a burst of one."""

_NO_ROOM = memoryview(b"")


class Payload:
    """One direction's. Loop thread."""

    def __init__(self, encoder: Encoder) -> None:
        self.given = 0
        """Bytes that have come so far."""
        self.coming = 0
        """Payload of the PDU that it comes in."""
        self._encoder = encoder
        self._apart = max(APART_LEAST, min(APART_MIN, encoder.shortest))  # what has no border yet shall never get one
        self._next: Address | None = None  # of the byte after the last one
        self._marks: dict[Address, Mark] = {}
        self._bordered = 0  # of `given`, up to the last border
        self._window = FAR  # where in `given` the window ends
        self._room = _NO_ROOM  # of the encoder's buffer
        self._filled = 0  # of that

    def place(self, data: memoryview, address: Address | None) -> None:
        """Bytes of a volume from that address on, or of none: what was placed before must not be used any more."""
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
        """Where on a volume the rest belongs is not known: no window's end is near any more.

        What has come is cut before, as it was delivered: content made no border near the window's end.
        """
        if self._next is not None:
            self._jump(None)
        self._next, self._window = None, FAR

    def pour(self, piece: memoryview) -> None:
        """Into the encoder's buffer, which looks for chunks when it is full or `settle` says so: not for each PDU."""
        while len(piece) > (left := len(self._room) - self._filled):
            if left:
                self._fill(piece[:left])
                piece = piece[left:]
            self.settle()
            self._room = self._encoder.buffer(READ_BYTES)
        self._fill(piece)

    def settle(self, *, lazy: bool = True) -> None:
        """`lazy`: if it need not be searched for borders before more has come, or one is forced."""
        if self._filled or not lazy:
            self._encoder.ahead = self._window - self.given
            self._encoder.received(self._filled, lazy=lazy)
            self._filled, self._room = 0, _NO_ROOM

    def shrink(self) -> None:
        """As of `Encoder`, where all that has come is settled."""
        if not self._filled:
            self._room = _NO_ROOM
            self._encoder.shrink()

    def _fill(self, piece: memoryview) -> None:
        end = self._filled + len(piece)
        self._room[self._filled : end] = piece
        self._filled = end
        self.given += len(piece)

    def _jump(self, address: Address | None) -> None:
        """Several commands take turns: where one breaks off another goes on from where it broke off before."""
        left = self._next
        if not self._border(APART_LEAST if self.coming >= APART_MIN else self._apart):
            return
        if left is not None:
            self._marks[left] = self._encoder.mark
        mark = self._marks.pop(address, None) if address is not None else None
        if mark is not None:
            self._encoder.mark = mark
        elif len(self._marks) > _MARKS:
            del self._marks[next(iter(self._marks))]

    def _border(self, run: int) -> bool:
        """A chunk ends here if the last one did so many bytes ago, or has just ended here: then true."""
        self.settle()
        if self.given - self._bordered >= run:
            self._encoder.ahead = self._window - self.given
            self._encoder.border()
            self._bordered = self.given
        return self._bordered == self.given
