"""Stored chunks by how they begin: for data that follows nothing, such as a command's, and is too short to be a chunk.

An initiator sends the first bytes of a write with the command, and the rest when it is asked for (RFC 7143, 4.2.5.2):
with several commands under way, the beginnings of all of them come one after another. None announces the next.
"""

from typing import NamedTuple

PREFIX = 512
"""So many bytes tell chunks apart: what most arrays take for a logical block."""
_KEY = 8
_NAME = 32
_ENTRY = _KEY + _NAME
_PLACES = 1 << 15
"""With four of them each, a chunk for each 64 KiB window of 8 GiB."""
_PLACE = 4 * _ENTRY
"""With one alone, every hundredth window of 128 MiB took another one's place."""


class Spot(NamedTuple):
    """Where in the table a beginning belongs."""

    key: bytes
    start: int


class Beginnings:
    """Loop thread, one a site. 5 MiB, touched as they are used. Of those in one place the oldest goes."""

    def __init__(self, places: int = _PLACES) -> None:
        """`places`: a power of two."""
        self._table = bytearray(places * _PLACE)
        self._mask = places - 1

    def spot(self, data: memoryview) -> Spot | None:
        """Of the first 512 bytes, which its users keep as long as these are the same; None for less."""
        if len(data) < PREFIX:
            return None
        value = hash(bytes(data[:PREFIX]))  # with a secret of the process: nobody can aim at an entry
        return Spot(value.to_bytes(_KEY, "little", signed=True), (value & self._mask) * _PLACE)

    def recall(self, spot: Spot) -> bytes | None:
        """The name of a chunk that began with the same 512 bytes, most likely; None if none is known."""
        at = self._find(spot)
        return None if at is None else bytes(self._table[at + _KEY : at + _ENTRY])

    def note(self, spot: Spot, name: bytes) -> None:
        """A chunk of that name begins so."""
        key, start = spot
        at = self._find(spot)
        if at is None:
            at = start + _PLACE - _ENTRY
        self._table[start : at + _ENTRY] = key + name + self._table[start:at]

    def _find(self, spot: Spot) -> int | None:
        key, start = spot
        at = self._table.find(key, start, start + _PLACE)
        return None if at < 0 or (at - start) % _ENTRY else at
