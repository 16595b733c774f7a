"""Stored chunks by how they begin: for data that follows nothing, such as a command's, and is too short to be a chunk.

An initiator sends the first bytes of a write with the command, and the rest when it is asked for (RFC 7143, 4.2.5.2):
with several commands under way, the beginnings of all of them come one after another. None announces the next.
"""

PREFIX = 512
"""So many bytes tell chunks apart: what most arrays take for a logical block."""
_KEY = 8
_NAME = 32
_ENTRY = _KEY + _NAME
_ENTRIES = 1 << 17
"""A chunk for each 64 KiB window of 8 GiB."""


class Beginnings:
    """Loop thread, one a site. 5 MiB, touched as they are used. Of two chunks in one place the newer stays."""

    def __init__(self, entries: int = _ENTRIES) -> None:
        """`entries`: a power of two."""
        self._table = bytearray(entries * _ENTRY)
        self._mask = entries - 1
        self._last = b"", b"", 0  # asked for, and where it is: who asks asks again

    def recall(self, data: memoryview) -> bytes | None:
        """The name of a chunk that began with the same 512 bytes, most likely; None if none is known, or for less."""
        if len(data) < PREFIX:
            return None
        key, at = self._place(data)
        return bytes(self._table[at + _KEY : at + _ENTRY]) if self._table[at : at + _KEY] == key else None

    def note(self, data: memoryview, name: bytes) -> None:
        """A chunk of that name begins with 512 bytes of `data`; not noted if there are less."""
        if len(data) >= PREFIX:
            key, at = self._place(data)
            self._table[at : at + _ENTRY] = key + name

    def _place(self, data: memoryview) -> tuple[bytes, int]:
        prefix = bytes(data[:PREFIX])
        last, key, at = self._last
        if prefix != last:
            value = hash(prefix)  # with a secret of the process: nobody can aim at an entry
            key, at = value.to_bytes(_KEY, "little", signed=True), (value & self._mask) * _ENTRY
            self._last = prefix, key, at
        return key, at
