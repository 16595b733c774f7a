"""Stored chunks by how they begin: for data that follows nothing, such as a command's, and is too short to be a chunk.

An initiator sends the first bytes of a write with the command, and the rest when it is asked for (RFC 7143, 4.2.5.2):
with several commands under way, the beginnings of all of them come one after another. None announces the next.
"""

from array import array
from struct import Struct

PREFIX = 512
"""So many bytes tell chunks apart: what most arrays take for a logical block."""
_KEY = Struct("q")
_ENTRY = _KEY.size + 32  # a name's bytes
_PLACES = 1 << 15
"""With four of them each, a chunk for each 64 KiB window of 8 GiB."""
_REST = 3 * _ENTRY
"""What stays of a place when one more comes. With one alone, every hundredth window of 128 MiB took another one's."""


class Beginnings:
    """Loop thread, one a site. 6 MiB, nearly all taken as they are used. Of those in one place the oldest goes."""

    def __init__(self, places: int = _PLACES) -> None:
        """`places`: a power of two."""
        self._places = [b""] * places  # entries of key and name, the newest first
        self._mask = places - 1
        self._known = array("q", bytes(8 * places))

    def knows(self, name: bytes) -> bool:
        """True if it is remembered that the chunk is known by how it begins; then its bytes need not be looked at."""
        number = hash(name)
        return self._known[number & self._mask] == number

    def confirm(self, name: bytes) -> None:
        """The chunk was recalled."""
        number = hash(name)
        self._known[number & self._mask] = number

    def recall(self, data: memoryview) -> tuple[int | None, bytes | None]:
        """What stands for the first 512 bytes, and the name of a chunk that began with the same, most likely.

        None for less bytes, and None if none is known.
        """
        if len(data) < PREFIX:
            return None, None
        spot = hash(bytes(data[:PREFIX]))  # with a secret of the process: nobody can aim at an entry
        entries = self._places[spot & self._mask]
        at = entries.find(_KEY.pack(spot)) if entries else -1
        return spot, None if at % _ENTRY else entries[at + _KEY.size : at + _ENTRY]

    def note(self, spot: int, name: bytes) -> None:
        """A chunk of that name begins so."""
        place = spot & self._mask
        key, entries = _KEY.pack(spot), self._places[place]
        self._places[place] = key + name + (self._rest(entries, key) if entries else b"")
        self.confirm(name)

    def _rest(self, entries: bytes, key: bytes) -> bytes:
        """What stays of a place when an entry of that key comes."""
        at = entries.find(key)
        if at < 0 or at % _ENTRY:
            at = _REST
        gone = entries[at + _KEY.size : at + _ENTRY]
        if gone and self.knows(gone):
            self._known[hash(gone) & self._mask] = 0
        return entries[:at] + entries[at + _ENTRY :]
