"""Stored chunks by how they begin: for data that follows nothing, such as a command's, and is too short to be a chunk.

An initiator sends the first bytes of a write with the command, and the rest when it is asked for (RFC 7143, 4.2.5.2):
with several commands under way, the beginnings of all of them come one after another. None announces the next.
"""

PREFIX = 512
"""So many bytes tell chunks apart: what most arrays take for a logical block."""
_KEY = 8
_NAME = 32
_ENTRY = _KEY + _NAME
_PLACES = 1 << 15
"""With four of them each, a chunk for each 64 KiB window of 8 GiB."""
_PLACE = 4 * _ENTRY
"""With one alone, every hundredth window of 128 MiB took another one's place."""


class Beginnings:
    """Loop thread, one a site. 5 MiB, touched as they are used. Of those in one place the oldest goes."""

    def __init__(self, places: int = _PLACES) -> None:
        """`places`: a power of two."""
        self._table = bytearray(places * _PLACE)
        self._mask = places - 1

    def spot(self, data: memoryview) -> int | None:
        """What stands for the first 512 bytes; None for less."""
        if len(data) < PREFIX:
            return None
        return hash(bytes(data[:PREFIX]))  # with a secret of the process: nobody can aim at an entry

    def recall(self, spot: int) -> bytes | None:
        """The name of a chunk that began with the same 512 bytes, most likely; None if none is known."""
        start = (spot & self._mask) * _PLACE
        at = self._table.find(spot.to_bytes(_KEY, "little", signed=True), start, start + _PLACE)
        return None if at < 0 or (at - start) % _ENTRY else bytes(self._table[at + _KEY : at + _ENTRY])

    def knows(self, data: memoryview, name: bytes) -> bool:
        """True if a chunk of that name is noted to begin like this; false for less than 512 bytes."""
        if len(data) < PREFIX:
            return False
        spot = hash(bytes(data[:PREFIX]))
        start = (spot & self._mask) * _PLACE
        return self._table.find(spot.to_bytes(_KEY, "little", signed=True) + name, start, start + _PLACE) >= 0

    def note(self, spot: int, name: bytes) -> None:
        """A chunk of that name begins so."""
        key = spot.to_bytes(_KEY, "little", signed=True)
        start = (spot & self._mask) * _PLACE
        at = self._table.find(key, start, start + _PLACE)
        if at < 0 or (at - start) % _ENTRY:
            at = start + _PLACE - _ENTRY
        self._table[start : at + _ENTRY] = key + name + self._table[start:at]
