"""Finds stored chunks by their first bytes: for data that follows nothing known, and may be shorter than a chunk.

An initiator sends the first bytes of a write with the command, and the rest when the target asks for it (RFC 7143,
4.2.5.2). With several commands under way, the first bytes of all come one after another, and none announces the next.
"""

from array import array
from struct import Struct

PREFIX = 512
"""How many first bytes tell chunks apart: the logical block of most arrays."""
_KEY = Struct("q")
_ENTRY = _KEY.size + 32  # a key, and a chunk's name
_BUCKETS = 1 << 15
"""With four entries in each, the table has room for a chunk for each 64 KiB window of 8 GiB."""
_OLDER = 3 * _ENTRY
"""Bytes of older entries that a bucket keeps when a new one comes. With one entry a bucket, one in a hundred windows of
128 MiB displaced another."""


class Beginnings:
    """A hash table; a full bucket drops its oldest entry. Loop thread, one a site.

    It grows to 6 MiB, nearly all of it only as buckets are used.
    """

    def __init__(self, buckets: int = _BUCKETS) -> None:
        """`buckets`: a power of two."""
        self._buckets = [b""] * buckets  # entries of key and name, the newest first
        self._mask = buckets - 1
        self._known = array("q", bytes(8 * buckets))  # hashes of names in the table; a later one may displace another

    def knows(self, name: bytes) -> bool:
        """True if the chunk is remembered to be in the table: then its bytes need not be looked at."""
        number = hash(name)
        return self._known[number & self._mask] == number

    def confirm(self, name: bytes) -> None:
        """Remember that the chunk is in the table."""
        number = hash(name)
        self._known[number & self._mask] = number

    def recall(self, data: memoryview) -> tuple[int | None, bytes | None]:
        """The hash of the first 512 bytes, and the name of a chunk that probably begins with the same bytes.

        The hash is None if there are fewer bytes, the name is None if no such chunk is known.
        """
        if len(data) < PREFIX:
            return None, None
        spot = hash(bytes(data[:PREFIX]))  # with a secret of the process: nobody can aim at an entry
        entries = self._buckets[spot & self._mask]
        at = entries.find(_KEY.pack(spot)) if entries else -1
        return spot, None if at % _ENTRY else entries[at + _KEY.size : at + _ENTRY]

    def note(self, spot: int, name: bytes) -> None:
        """Enter a chunk that begins with the bytes for which `recall` returned the hash `spot`."""
        bucket = spot & self._mask
        key, entries = _KEY.pack(spot), self._buckets[bucket]
        self._buckets[bucket] = key + name + (self._others(entries, key) if entries else b"")
        self.confirm(name)

    def _others(self, entries: bytes, key: bytes) -> bytes:
        """The entries that a bucket keeps when one of that key comes: without the one of that key, or the oldest."""
        at = entries.find(key)
        if at < 0 or at % _ENTRY:
            at = _OLDER
        gone = entries[at + _KEY.size : at + _ENTRY]
        if gone and self.knows(gone):
            self._known[hash(gone) & self._mask] = 0
        return entries[:at] + entries[at + _ENTRY :]
