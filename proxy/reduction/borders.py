"""Where chunks of a volume's data end beside what their content says: so that no order of commands changes them.

Arrays send what lies together in commands of any size and order. A chunk that reached from one command's data into the
next one's would be found again only where the same two meet. So a chunk ends where an address does not continue what
came before, and at each multiple of WINDOW on the volume; between them content decides. Of small commands several share
a chunk (`spans.py`). ARCHITECTURE.md has what other windows find.
"""

from collections.abc import Iterator

from proxy.iscsi.span import Address

WINDOW = 64 << 10
"""Bytes of the volume: the shortest commands that bulk goes by, and what longer ones begin at."""


class Borders:
    """One direction's payload."""

    def __init__(self) -> None:
        self.next: Address | None = None
        """Of the byte after the last one."""

    def jumps(self, address: Address | None) -> bool:
        """True if what comes at that address, None if unknown, does not continue what came before."""
        return address != self.next

    def pieces(self, address: Address | None, length: int) -> Iterator[tuple[int, bool]]:
        """The lengths of the pieces that so many bytes fall into, each with whether a chunk ends there."""
        if address is None:
            self.next = None
            yield length, False
            return
        self.next = Address(address.lun, address.byte + length)
        room = WINDOW - address.byte % WINDOW
        while length >= room:
            yield room, True
            length -= room
            room = WINDOW
        if length:
            yield length, False
