"""The ChunkStore interface: what every store promises, and the figures that it keeps.

Three threads meet here, one of each kind. The *loop* thread (an event loop) calls everything that is not marked
otherwise; none of that may wait for a disk. What may is called by the *reader* and the *writer*, two so that who reads
does not wait for a write that hangs. Implementations make them safe against each other. (A store that only one thread
knows may be used by that for everything.)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

Buffer = bytes | bytearray | memoryview

CONTAINER_BYTES = 4 << 20
"""Of a container's slot, header and directory included: in memory, and on disk in stores below 1 GiB or above 512 GiB
and in those of earlier versions. Others have slots of half as many (FORMAT.md)."""


Place = tuple[int, int]
"""Where a chunk lies: its container, whose ids count from 1 and are never used again, and its entry there, from 0.

Plain tuples of numbers: there may be millions, and the garbage collector looks at each once and then never again."""


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
    """Chunks that `find` knew."""
    hit_bytes: int = 0
    misses: int = 0
    """Chunks that `find` did not know."""
    invalid: int = 0
    """Chunks that failed verification and were dropped."""
    evicted_containers: int = 0
    evicted_bytes: int = 0
    unlearned: int = 0
    """Chunks that were not stored, for want of room or health."""
    unlearned_bytes: int = 0
    loads: int = 0
    """Containers read from disk, or chunks alone."""
    unwritten_bytes: int = 0
    """Sealed containers that wait to be written."""
    oldest_seconds: float = 0.0
    """Since the container that was filled first was; 0 while none is full."""
    hits_by_age: list[int] = field(default_factory=list)
    """One look-up in 256 that found its chunk, by age: the newest tenth of the store first."""
    missed_by_size: list[tuple[int, float]] = field(default_factory=list)
    """An estimate: look-ups that a store that many times as large would have answered, beyond the hits."""
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
        """A peer is told of the epochs. What no peer was told of is taken back when the store is closed."""

    @property
    def alarms(self) -> tuple[str, ...]:
        """What is wrong now, one sentence each; empty when healthy. Cheap."""

    def find(self, fingerprint: bytes) -> Place | None:
        """Where the chunk lies, or None. Reads the index only; says nothing about the data's health."""

    def put(self, fingerprint: bytes, data: Buffer, writer: int = 0) -> Place | None:
        """Copy the chunk in and say where; if it is held already, where it lies. None: passed unlearned.

        `writer` is any number: chunks of one writer are kept together as far as there is room for that.
        The caller has computed the fingerprint from this very data. Never raises for a disk's sake.
        """

    def read(self, fingerprint: bytes) -> bytes | None:
        """A copy of the chunk, verified after copying. None: its container must be loaded first.

        Raises ChunkMissing or ChunkInvalid.
        """

    def load(self, fingerprint: bytes, *, whole: bool = False, soon: Iterable[bytes] = ()) -> None:
        """Reader: fetch the chunk's container (its neighbours come along), so that `read` can answer.

        Where what is read lies scattered it may be the chunk alone, unless `whole` says that its neighbours are wanted,
        too. A container that cannot be read is dropped, so that `read` then raises ChunkMissing. Never raises.

        `soon`: chunks that will be loaded next. The disk may be set to reading them, which is not waited for.
        """

    def prefetch(self, fingerprint: bytes, *, spare: bool = False) -> None:
        """Reader: as `load`, for the container that the same writer filled next: a stream wants it soon.

        `spare`: unless that would drive out one that others are reading, or what is read lies scattered.
        """

    def following(self, place: Place) -> tuple[bytes, Place] | None:
        """Fingerprint and place of the chunk that the same writer stored after this one, if it is known without I/O."""

    def behind(self, place: Place, most: int) -> list[bytes]:
        """What was put into that place's container behind it, up to so many fingerprints, if it is known without I/O.

        Their chunks may have gone since.
        """

    def pin(self, container: int) -> None:
        """Keep the container from eviction; counted, undone by as many `unpin`."""

    def unpin(self, container: int) -> None:
        """Undo one `pin`."""

    def belief(self, peer: bytes, container: int) -> int:
        """Bit i says that the store `peer` holds entry i of the container. 0 if unknown.

        `peer`, here and below, has 16 bytes, the first 8 of which name the site whose store it is.
        """

    def believe(self, peer: bytes, container: int, bits: int) -> None:
        """Replace those bits; written down with the next `write`, gone when the container is evicted."""

    def recall(self, peer: bytes) -> bytes | None:
        """The newest epoch that `remember` was told of that peer's store, or None."""

    def remember(self, peer: bytes, epoch: bytes) -> None:
        """Note the peer's newest epoch (written down with the next `write`)."""

    def disbelieve(self, peer: bytes) -> None:
        """Drop all belief and the epoch of that peer's store."""

    @property
    def unwritten(self) -> int:
        """Bytes of sealed containers that wait for `write`."""

    @property
    def unwritten_max(self) -> int:
        """Above so many the loop should pause its sources: there is room for little more, and then none is learned."""

    @property
    def write_due(self) -> bool:
        """True if `write` has something to do though no container waits: notes on peers, a look at the disk. Cheap."""

    def write(self) -> None:
        """Writer: write notes about peers, and sealed containers; not all of them where many wait.

        So sources that rest because of `unwritten_max` need not wait for all. Never raises: a failing disk becomes an
        alarm.
        """

    def prepare(self) -> bool:
        """Reader: ready some memory ahead of need, so that chunks do not wait for the kernel's pages, nor look-ups for
        the disk. True if there is more to be readied: it is done in steps, so that who reads waits for none of them."""

    def figures(self) -> StoreFigures:
        """A snapshot of the counters."""

    def fingerprints(self) -> Iterator[bytes]:
        """Writer: the fingerprint of every chunk held, oldest container first."""

    def verify(self, progress: Callable[[int, int], None] | None = None) -> tuple[int, int]:
        """Writer: read and verify everything; (sound, dropped). `progress` is called with (done, all) containers."""

    def close(self) -> None:
        """Seal, write and release everything. The store cannot be used afterwards."""
