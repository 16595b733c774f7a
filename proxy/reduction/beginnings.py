"""Stored chunks by their first bytes: for data that follows nothing known, and may be shorter than a chunk.

An initiator sends the first bytes of a write with the command, and the rest when it is asked for (RFC 7143, 4.2.5.2):
with several commands under way, the beginnings of all of them come one after another. None announces the next.
"""

from array import array
from struct import Struct

PREFIX = 512
"""So many bytes tell chunks apart: what most arrays take for a logical block."""
_KEY = Struct("q")
_ENTRY = _KEY.size + 32  # a name's bytes
_BUCKETS = 1 << 15
"""With four entries each, a chunk for each 64 KiB window of 8 GiB."""
_OLDER = 3 * _ENTRY
"""Bytes that stay of a bucket when an entry comes. With one entry a bucket, every hundredth window of 128 MiB took
another one's place."""


class Beginnings:
    """A hash table, of whose buckets the oldest entry goes. Loop thread, one a site.

    It takes 6 MiB, nearly all as they are used.
    """

    def __init__(self, buckets: int = _BUCKETS) -> None:
        """`buckets`: a power of two."""
        self._buckets = [b""] * buckets  # entries of key and name, the newest first
        self._mask = buckets - 1
        self._known = array("q", bytes(8 * buckets))  # hashes of names in the table; one takes another one's place

    def knows(self, name: bytes) -> bool:
        """True if the chunk is in the table, as far as that is remembered: then its bytes need not be looked at."""
        number = hash(name)
        return self._known[number & self._mask] == number

    def confirm(self, name: bytes) -> None:
        """The chunk was recalled."""
        number = hash(name)
        self._known[number & self._mask] = number

    def recall(self, data: memoryview) -> tuple[int | None, bytes | None]:
        """The hash of the first 512 bytes, and the name of a chunk that probably begins with the same.

        None if there are fewer bytes, and None if no such chunk is known.
        """
        if len(data) < PREFIX:
            return None, None
        spot = hash(bytes(data[:PREFIX]))  # with a secret of the process: nobody can aim at an entry
        entries = self._buckets[spot & self._mask]
        at = entries.find(_KEY.pack(spot)) if entries else -1
        return spot, None if at % _ENTRY else entries[at + _KEY.size : at + _ENTRY]

    def note(self, spot: int, name: bytes) -> None:
        """A chunk of that name begins with the bytes of which `recall` gave that hash."""
        bucket = spot & self._mask
        key, entries = _KEY.pack(spot), self._buckets[bucket]
        self._buckets[bucket] = key + name + (self._others(entries, key) if entries else b"")
        self.confirm(name)

    def _others(self, entries: bytes, key: bytes) -> bytes:
        """What stays of a bucket when an entry of that key comes."""
        at = entries.find(key)
        if at < 0 or at % _ENTRY:
            at = _OLDER
        gone = entries[at + _KEY.size : at + _ENTRY]
        if gone and self.knows(gone):
            self._known[hash(gone) & self._mask] = 0
        return entries[:at] + entries[at + _ENTRY :]
