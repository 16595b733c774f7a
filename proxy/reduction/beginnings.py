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
        self._last = b"", b"", 0  # asked for, and where it is: who asks asks again

    def recall(self, data: memoryview) -> bytes | None:
        """The name of a chunk that began with the same 512 bytes, most likely; None if none is known, or for less."""
        if len(data) < PREFIX:
            return None
        key, start = self._place(data)
        at = self._find(key, start)
        return None if at is None else bytes(self._table[at + _KEY : at + _ENTRY])

    def note(self, data: memoryview, name: bytes) -> None:
        """A chunk of that name begins with 512 bytes of `data`; not noted if there are less."""
        if len(data) < PREFIX:
            return
        key, start = self._place(data)
        at = self._find(key, start)
        if at is None:
            at = start + _PLACE - _ENTRY
        self._table[start : at + _ENTRY] = key + name + self._table[start:at]

    def _find(self, key: bytes, start: int) -> int | None:
        at = self._table.find(key, start, start + _PLACE)
        return None if at < 0 or (at - start) % _ENTRY else at

    def _place(self, data: memoryview) -> tuple[bytes, int]:
        prefix = bytes(data[:PREFIX])
        last, key, at = self._last
        if prefix != last:
            value = hash(prefix)  # with a secret of the process: nobody can aim at an entry
            key, at = value.to_bytes(_KEY, "little", signed=True), (value & self._mask) * _PLACE
            self._last = prefix, key, at
        return key, at
