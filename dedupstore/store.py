"""The ChunkStore interface: what every store promises, and the figures that it keeps.

Three threads meet here, one of each kind. The *loop* thread (an event loop) calls everything that is not marked
otherwise; none of that may wait for a disk. What may wait is called by the *reader* and the *writer*: they are two, so
that reads do not wait for a write that hangs. Implementations make the threads safe against each other. (A store that
only one thread uses may be used by it for everything.)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

Buffer = bytes | bytearray | memoryview

CONTAINER_BYTES = 4 << 20
"""Bytes of a container's slot, header and directory included: in memory, and on disk in stores below 1 GiB or above 512
GiB and in those of earlier versions. Other stores have slots of half as many (FORMAT.md)."""


Place = tuple[int, int]
"""Where a chunk lies: the id of its container (ids count from 1 and are never used again), and its entry there, from 0.

It is a plain tuple of numbers: there may be millions, and the garbage collector looks at each only once."""


class Repeated(NamedTuple):
    """How data repeats chunks that lie one after another in one container."""

    same: int
    """Bytes that are the same, from the data's beginning on."""
    place: Place
    """Of the first chunk."""
    ends: list[int]
    """Where each whole chunk within these bytes ends in the data."""
    names: list[bytes]
    """The fingerprints of these chunks."""


NOT_REPEATED = Repeated(0, (0, 0), [], [])


@dataclass(slots=True)
class StoreFigures:
    """Counters since the store was opened, and sizes now. Bytes are chunk bytes unless said otherwise."""

    mode: str
    size_bytes: int
    """The configured bound, everything included."""
    used_bytes: int = 0
    """Bytes of chunks held now."""
    chunks: int = 0
    containers: int = 0
    puts: int = 0
    put_bytes: int = 0
    hits: int = 0
    """Chunks that were found."""
    hit_bytes: int = 0
    misses: int = 0
    """Chunks that were looked for in vain."""
    invalid: int = 0
    """Chunks that failed verification and were dropped."""
    evicted_containers: int = 0
    evicted_bytes: int = 0
    unlearned: int = 0
    """Chunks that were not stored, because there was no room or the disk failed."""
    unlearned_bytes: int = 0
    loads: int = 0
    """Reads from disk, of a container or of a chunk alone."""
    unwritten_bytes: int = 0
    """Bytes of sealed containers that wait to be written."""
    oldest_seconds: float = 0.0
    """Seconds since the oldest container was filled; 0 while none is full."""
    hits_by_age: list[int] = field(default_factory=list)
    """One look-up in 256 that found its chunk, by age: the newest tenth of the store first."""
    missed_by_size: list[tuple[int, float]] = field(default_factory=list)
    """For some factors, an estimate: missed look-ups that a store so many times as large would have answered."""
    alarms: list[str] = field(default_factory=list)
    """What an operator must know now, one sentence each, with the remedy."""


class ChunkStore(Protocol):
    """A bounded map from fingerprint (32 bytes) to chunk (1 byte to 256 KiB), evicted by whole container."""

    @property
    def identity(self) -> bytes:
        """16 random bytes, drawn when the store was created or purged."""

    @property
    def epochs(self) -> tuple[bytes, ...]:
        """8 random bytes each time the store was opened, newest first, at most 16."""

    def announce(self) -> None:
        """A peer is told of the epochs. If none ever is, the newest epoch is taken back when the store is closed."""

    @property
    def alarms(self) -> tuple[str, ...]:
        """What is wrong now, one sentence each; empty when healthy. Cheap."""

    @property
    def shrunk(self) -> str:
        """What was dropped when it was opened, because its size had become too small for all of it: one sentence to be
        told once. Empty if nothing was."""

    def find(self, fingerprint: bytes) -> Place | None:
        """Where the chunk lies, or None. Reads the index only, so the data may still turn out to be damaged."""

    def put(self, fingerprint: bytes, data: Buffer, writer: int = 0) -> Place | None:
        """Copy the chunk in, unless it is held already; returns where it lies. None: it was not stored.

        `writer` is any number: chunks of one writer are kept together as far as there is room for that.
        The caller has computed the fingerprint from this very data. Never raises because of a disk.
        """

    def read(self, fingerprint: bytes) -> bytes | None:
        """A copy of the chunk, verified after copying. None: its container must be loaded first.

        Raises ChunkMissing (ChunkAway if the disk may give it later) or ChunkInvalid.
        """

    def read_behind(self, place: Place, fingerprints: Sequence[bytes], most: int) -> tuple[int, bytes]:
        """How many of these chunks lie one after another behind that place in its container, and a copy of them, each
        verified after copying; at most `most` bytes. None are found if the container is not in memory.
        """

    def load(self, fingerprint: bytes, *, whole: bool = False, soon: Iterable[bytes] = ()) -> None:
        """Reader: fetch the chunk's container (its neighbours come along), so that `read` can answer.

        If reads are scattered, it may fetch the chunk alone, unless `whole` says that its neighbours are wanted, too. A
        container that is damaged is dropped, so that `read` then raises ChunkMissing; what the disk does not give is
        not found for a while, so that it raises ChunkAway. Never raises.

        `soon`: chunks that will be loaded next. The disk may be told to read them, without waiting for that.
        """

    def prefetch(self, fingerprint: bytes, *, spare: bool = False) -> None:
        """Reader: as `load`, for the container that the same writer filled next: a stream wants it soon.

        `spare`: do nothing if that would displace a container that others are reading, or if reads are scattered.
        """

    def following(self, place: Place) -> tuple[bytes, Place] | None:
        """Fingerprint and place of the chunk that the same writer stored after this one, if it is known without I/O."""

    def repeated(self, place: Place, data: memoryview) -> Repeated:
        """How `data` repeats what the same writer stored behind that place.

        The chunks are held by the store, but not verified: data that is the same as a chunk's has its name. Nothing is
        found where that may have come from a disk: it is not worth verifying.
        """

    def count_hits(self, place: Place, names: Sequence[bytes], length: int) -> None:
        """Count these chunks, `length` bytes together, which lie in that place's container and were found there, as
        `find` does with one that it knows.
        """

    def behind(self, place: Place, most: int) -> list[bytes]:
        """Up to `most` fingerprints of chunks behind that place in its container, if they are known without I/O.

        Their chunks may be gone since.
        """

    def pin(self, container: int) -> None:
        """Keep the container from eviction; counted, undone by as many `unpin`."""

    def unpin(self, container: int) -> None:
        """Undo one `pin`."""

    def belief(self, peer: bytes, container: int) -> int | None:
        """Bit i says that the store `peer` holds entry i of the container. None: what is recorded cannot be asked now.

        `peer`, here and below, has 16 bytes, the first 8 of which name the site whose store it is.
        """

    def believe(self, peer: bytes, container: int, bits: int) -> None:
        """Replace those bits. The next `write` records them; they are dropped when the container is evicted."""

    def recall(self, peer: bytes) -> bytes | None:
        """The newest epoch that `remember` was told of that peer's store, or None."""

    def remember(self, peer: bytes, epoch: bytes) -> None:
        """Note the peer's newest epoch; the next `write` records it."""

    def disbelieve(self, peer: bytes) -> None:
        """Drop all belief and the epoch of that peer's store."""

    @property
    def unwritten(self) -> int:
        """Bytes of sealed containers that wait for `write`."""

    @property
    def unwritten_max(self) -> int:
        """While `unwritten` is above this, the loop should pause its sources: with little more, nothing is learned."""

    @property
    def write_due(self) -> bool:
        """True if `write` has something to do though no container waits: notes on peers, a look at the disk. Cheap."""

    def write(self) -> None:
        """Writer: write notes about peers, and sealed containers; if many wait, only some of them.

        So sources that rest because of `unwritten_max` need not wait for all. Never raises: a failing disk becomes an
        alarm.
        """

    def prepare(self) -> bool:
        """Reader: prepare some memory ahead of need, so that chunks do not wait for the kernel's pages, nor look-ups
        for the disk. True if there is more to prepare: it is done in steps, so that reads do not wait for all of it."""

    def figures(self) -> StoreFigures:
        """A snapshot of the counters."""

    def close(self) -> None:
        """Seal, write and release everything. The store cannot be used afterwards."""
