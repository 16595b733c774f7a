"""The errors of a store, each with the data that its handler needs.

`ChunkMissing` and `ChunkInvalid` concern one chunk and are ordinary events of replication: the peer is asked for the
chunk. `StoreBusy` and `StoreUnusable` end the attempt to open a store, and are an operator's business. `StoreFault`
is the store's own trouble (a disk); it stays inside, where it becomes an alarm, while traffic passes unlearned: it is
delivered, and not stored.
"""


class StoreError(Exception):
    """Base of everything that dedupstore raises."""


class ChunkMissing(StoreError):
    """The store does not hold the chunk (evicted, never stored, or lost in a crash)."""

    def __init__(self, fingerprint: bytes) -> None:
        super().__init__(f"chunk {fingerprint.hex()[:16]} is not in the store")
        self.fingerprint = fingerprint


class ChunkAway(ChunkMissing):
    """The store does not find the chunk, but its disk gives nothing, or not all that it has: the chunk may be there."""


class ChunkInvalid(StoreError):
    """What lay in the chunk's place does not match its fingerprint; the store has dropped it."""

    def __init__(self, fingerprint: bytes) -> None:
        super().__init__(f"chunk {fingerprint.hex()[:16]} failed verification and was dropped")
        self.fingerprint = fingerprint


class StoreFault(StoreError):
    """The disk, the map or the index failed; traffic passes unlearned meanwhile."""


class Away(StoreFault):
    """The disk gives nothing at all. It may be back soon, as one on a network, with all that it holds."""


class DiskFull(StoreFault):
    """There is no room for one more byte on the disk."""


class FileTooLong(DiskFull):
    """There may be room, but not in this file: it is as long as its file system, or a limit of the process, allows."""


class IndexFull(StoreFault):
    """The index map has no free page left."""


class IndexGivenUp(StoreFault):
    """LMDB takes nothing more until the index is opened again; what it has can be looked up."""


class Damaged(StoreFault):
    """What was read is not what was written: a header, a superblock or a page of the index."""


class Unread(Damaged):
    """A part of the index that the disk does not give, though it gives others: it may be bad there, or away."""


class StoreBusy(StoreError):
    """Another process owns the store."""

    def __init__(self, path: str, holder: str) -> None:
        self.found = f"store {path} is in use by {holder}"
        super().__init__(f"{self.found}; stop that process or configure another path")


class StoreUnusable(StoreError):
    """The store cannot be opened or created at all (size, permissions); the message names the remedy."""
