"""The LMDB index: where each chunk lies, which containers there are, and what peers hold (FORMAT.md, `index/`).

This is the only module that uses LMDB (`walk` and `nodes` look at its files). Every error leaves it as a StoreFault or
a subclass of that.

Only the writer writes. All look up through one snapshot, a read transaction that is replaced after each commit: while
it is held, LMDB does not reuse the pages that it sees. The writer begins and ends snapshots, too, and only inside or
right behind a write transaction. Beginning and ending one writes to the table of readers, a mapped file, with the GIL
held: if the disk does not answer, a page fault there would stop the whole process. A write transaction touches the same
page first, without the GIL. Calls that read through the snapshot, and `refresh`, are guarded by the store's lock.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import error as StructError

import lmdb

from dedupstore.beliefs import Notes, PeerNote
from dedupstore.change import Change
from dedupstore.container import Container
from dedupstore.errors import Damaged, DiskFull, IndexFull, IndexGivenUp, StoreFault
from dedupstore.readers import READERS, make_table
from dedupstore.records import (
    ID,
    PLACE,
    U64,
    Meta,
    pack_bits,
    pack_meta,
    pack_note,
    pack_row,
    places,
    unpack_bits,
    unpack_meta,
    unpack_note,
    unpack_row,
)
from dedupstore.roster import Row
from dedupstore.store import Place
from dedupstore.walk import problems

_KEYS_A_PAGE = 32
"""Places of chunks in a page of the index: the average is no less."""
_SWEEP_DIVISOR = 8
"""If the map has no room for a sweep, it is tried again with so many times fewer places a transaction."""
INDEX_FILES = "data.mdb", "lock.mdb"
COMPACT = "compact"
"""The entries that the index makes in its directory: files, and a directory for a while."""
_LEAST_FREE = 1 << 20
"""A disk with fewer free bytes is full."""
_DAMAGED = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.VersionMismatchError,
    lmdb.IncompatibleError,
    lmdb.BadTxnError,
    StructError,
)
_NOT_AN_INDEX = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)


class Index:
    """An open LMDB environment. Owned by one store; `close` it before the directory is moved."""

    def __init__(self, path: Path, map_bytes: int) -> None:
        """Open or create the index. Raises Damaged if it is no sound LMDB file, DiskFull, or otherwise StoreFault."""
        self.path = path
        self._data = path / "data.mdb"
        self._reader: lmdb.Transaction[bytes] | None = None
        self._fresh: lmdb.Transaction[bytes] | None = None
        """The snapshot after the last commit, which `refresh` makes `_reader`."""
        self._spent: list[lmdb.Transaction[bytes]] = []
        """Former snapshots, which the writer has yet to end."""
        self.map_bytes = map_bytes
        shutil.rmtree(path / COMPACT, ignore_errors=True)
        with _translated():
            path.mkdir(mode=0o700, exist_ok=True)
            make_table(path / "lock.mdb")
            self._env = self._opened(map_bytes)
        try:
            self.page_bytes: int = self._env.stat()["psize"]
            """The page size of the host that made the index: 4 KiB on most, 16 or 64 on some (LMDB takes 32 for 64)."""
            self.clear_dead_readers()
            with _translated():
                self._check_length()
            self._open_databases()
        except BaseException:
            self._env.close()
            raise

    def _opened(self, map_bytes: int) -> lmdb.Environment:
        new = not self._data.exists()
        try:
            return lmdb.open(
                os.fsencode(self.path), map_bytes, metasync=False, mode=0o600, readahead=False,
                max_readers=READERS, max_dbs=8, max_spare_txns=2,
            )  # fmt: skip
        except lmdb.Error:
            if new:  # a full disk may have taken half of what LMDB begins with: the next time that would be damage
                self._data.unlink(missing_ok=True)
            raise

    def _check_length(self) -> None:
        # Touching a page beyond the end of a mapped file is no error that can be caught: it ends the process. But LMDB
        # writes no page that one transaction took and gave up again: if those are the last ones, nothing is missing.
        used = (self._env.info()["last_pgno"] + 1) * self.page_bytes
        if self._data.stat().st_size < used:
            if problems(self.path):
                raise Damaged("the index is cut short")
            os.truncate(self._data, used)

    def _open_databases(self) -> None:
        with self._writing() as txn:
            names = (b"meta", b"chunk", b"container", b"peer", b"belief")
            self._all = [self._env.open_db(name, txn=txn) for name in names]
        self._meta, self._chunk, self._container, self._peer, self._belief = self._all

    # Reading through the snapshot: loop thread

    def find(self, name: bytes) -> tuple[Place, int] | None:
        """Where the index says that the chunk lies, and its length in bytes."""
        found = self.locate(name)
        return found and ((found[0], found[1]), found[3])

    def locate(self, name: bytes) -> tuple[int, int, int, int] | None:
        """Container, entry, offset in the container's data and length in bytes, as the index has them."""
        try:
            value = self._snapshot().get(name, None, self._chunk)
            return None if value is None else PLACE.unpack(value)
        except (lmdb.Error, StructError) as error:
            raise _fault(error) from error

    def belief(self, peer: bytes, container: int) -> int:
        """The bitmap that was written down for that peer's store and container, or 0."""
        try:
            value = self._snapshot().get(peer + ID.pack(container), b"", self._belief)
        except lmdb.Error as error:
            raise _fault(error) from error
        return unpack_bits(value)

    def refresh(self) -> None:
        """From now on, look up in the index as the last commit left it."""
        if self._fresh is not None:
            if self._reader is not None:
                self._spent.append(self._reader)
            self._reader, self._fresh = self._fresh, None

    def _snapshot(self) -> "lmdb.Transaction[bytes]":
        if self._reader is None:  # never in a store: it calls `begin` before any look-up
            self._reader = self._env.begin()
        return self._reader

    # Reading in a transaction of its own: while the store is being opened; `chunks` and `crowded` by the writer, too

    def meta(self) -> Meta | None:
        """The store's own data, or None in an empty index. Raises Damaged if it makes no sense."""
        with _translated(), self._env.begin(self._meta) as txn:
            values = dict(txn.cursor())
        return unpack_meta(values) if values else None

    def rows(self) -> list[tuple[int, Row]]:
        """All containers, oldest first."""
        with _translated(), self._env.begin(self._container) as txn:
            return [(ID.unpack(key)[0], unpack_row(value)) for key, value in txn.cursor()]

    def check(self) -> None:
        """Raise Damaged if the place of a chunk is malformed, which no walk over the pages sees."""
        with _translated(), self._env.begin(self._chunk) as txn:
            for value in txn.cursor().iternext(keys=False, values=True):
                PLACE.unpack(value)

    def peers(self) -> dict[bytes, PeerNote]:
        """All peers' stores that are remembered."""
        with _translated(), self._env.begin(self._peer) as txn:
            return {peer: unpack_note(value) for peer, value in txn.cursor()}

    def chunks(self) -> int:
        """Number of chunks that the index has a place for."""
        with self._writing() as txn:  # writes nothing, but waits without the interpreter's lock
            return txn.stat(self._chunk)["entries"]

    def crowded(self, change: Change) -> bool:
        """Whether the change might not find enough free pages."""
        return change.keys > self.room()

    def room(self) -> int:
        """How many keys a change may have so that it finds enough free pages.

        LMDB changes no page in place: each page that is touched is copied, and the pages that the transaction before
        gave up are not free yet. So there must be room for all live pages and twice for those that are touched: one for
        each key, but never more than are live.
        """
        with self._writing() as txn:  # writes nothing, but waits without the interpreter's lock
            stats = [txn.stat(database) for database in self._all]
        live = sum(stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"] for stat in stats)
        free = self.map_bytes * 9 // 10 // self.page_bytes - live
        keys = free * _KEYS_A_PAGE // (2 * _KEYS_A_PAGE + 1)
        return keys if keys <= live else (free - 2 * live) * _KEYS_A_PAGE

    def file_bytes(self) -> int:
        """Size of the index file."""
        with _translated():
            return self._data.stat().st_size

    def read_ahead(self, start: int, length: int) -> None:
        """Ask the kernel to read those bytes of the index file into memory: then look-ups do not wait for the disk."""
        with _translated(), open(self._data, "rb") as file:
            os.posix_fadvise(file.fileno(), start, length, os.POSIX_FADV_WILLNEED)

    def clear_dead_readers(self) -> None:
        """Free what is held by readers whose process has ended without giving it up."""
        with _translated():
            self._env.reader_check()

    def foreign_readers(self) -> list[int]:
        """Ids of other processes that hold a snapshot now."""
        with _translated():
            table = self._env.readers()
        held = {pid for pid, snapshot in _readers(table) if snapshot != "-"}
        return sorted(held - {os.getpid()})

    # Writing: the writer, and while the store is being opened

    def begin(self, meta: Meta) -> None:
        """Note that the store is open, from now on under its newest epoch, and take the first snapshot."""
        with self._writing() as txn:
            for key, value in pack_meta(meta).items():
                txn.put(key, value, db=self._meta)
        self._renew()
        self.refresh()

    def end(self, epochs: tuple[bytes, ...]) -> None:
        """Note that the store was closed in order, and which of its epochs stay."""
        with self._writing() as txn:
            txn.put(b"epochs", b"".join(epochs), db=self._meta)
            txn.put(b"clean", b"\1", db=self._meta)

    def commit(self, change: Change) -> None:
        """Commit all of the change or nothing; `refresh` makes it visible.

        Raises IndexFull, IndexGivenUp, DiskFull, Damaged or StoreFault.
        """
        with self._writing() as txn:
            peers = list(txn.cursor(self._peer).iternext(values=False))
            for container, names in change.removed.items():
                self._remove(txn, container, names, peers)
            for held, row in change.added:
                self._add(txn, held, row)
            for name, container in change.lost.items():
                self._lose(txn, name, U64.pack(container))
            for container, row in change.rows.items():
                txn.put(ID.pack(container), pack_row(row), db=self._container)
            if change.notes:
                self._note(txn, change.notes)
            txn.put(b"next", U64.pack(change.next), db=self._meta)
        self._renew()

    def sweep(self, alive: Callable[[int], bool], most: int = 4096) -> None:
        """Remove the places of chunks whose container is gone, `most` in a transaction; `refresh` makes it visible.

        It is fewer in a transaction if the map has no room for so many: each may touch a page of its own.
        """
        start: bytes | None = b""
        while start is not None:
            try:
                with self._writing() as txn:
                    start = self._sweep(txn, start, alive, most)
            except IndexFull:
                if most < _SWEEP_DIVISOR:
                    raise
                most //= _SWEEP_DIVISOR
        self._renew()

    def compacted(self, map_bytes: int) -> "Index":
        """Write the index anew without its free pages, put that in its place, and open it; this object is closed."""
        fresh = self.path / COMPACT
        with _translated():
            fresh.mkdir(mode=0o700)
            self._env.copy(os.fsencode(fresh), compact=True)  # type: ignore[arg-type]  # the stub knows only text
            _sync_copy(fresh / "data.mdb")
            self.close()
            os.replace(fresh / "data.mdb", self._data)
        return Index(self.path, map_bytes)

    def close(self) -> None:
        """Release everything."""
        self.refresh()
        self._give_up_spent()
        if self._reader is not None:
            self._reader.abort()
            self._reader = None
        self._env.close()

    def _renew(self) -> None:
        """Take a snapshot of what was just committed, for `refresh`."""
        with _translated():
            self._fresh = self._env.begin()

    def _give_up_spent(self) -> None:
        if self._fresh is not None:
            self._spent.append(self._fresh)
            self._fresh = None
        while self._spent:
            self._spent.pop().abort()

    def _remove(self, txn: "lmdb.Transaction[bytes]", container: int, names: list[bytes], peers: list[bytes]) -> None:
        mark = U64.pack(container)
        for name in names:
            self._lose(txn, name, mark)
        key = ID.pack(container)
        txn.delete(key, db=self._container)
        for peer in peers:
            txn.delete(peer + key, db=self._belief)

    def _lose(self, txn: "lmdb.Transaction[bytes]", name: bytes, mark: bytes) -> None:
        # The chunk may have been stored anew since, in a younger container.
        value = txn.get(name, None, self._chunk)
        if value is not None and value.startswith(mark):
            txn.delete(name, db=self._chunk)

    def _add(self, txn: "lmdb.Transaction[bytes]", held: Container, row: Row) -> None:
        txn.cursor(self._chunk).putmulti(places(held))
        txn.put(ID.pack(held.id), pack_row(row), db=self._container)

    def _note(self, txn: "lmdb.Transaction[bytes]", notes: Notes) -> None:
        for peer in notes.disbelieved:
            txn.delete(peer, db=self._peer)
            self._drop_beliefs(txn, peer)
        for peer, note in notes.peers.items():
            txn.put(peer, pack_note(note), db=self._peer)
        for (peer, container), bits in notes.bits.items():
            txn.put(peer + ID.pack(container), pack_bits(bits), db=self._belief)

    def _drop_beliefs(self, txn: "lmdb.Transaction[bytes]", peer: bytes) -> None:
        cursor = txn.cursor(self._belief)
        found = cursor.set_range(peer)
        while found and cursor.key().startswith(peer):
            cursor.delete()
            found = bool(cursor.key())

    def _sweep(
        self, txn: "lmdb.Transaction[bytes]", start: bytes, alive: Callable[[int], bool], most: int
    ) -> bytes | None:
        cursor = txn.cursor(self._chunk)
        found = cursor.set_range(start) if start else cursor.first()
        while found:
            if alive(U64.unpack_from(cursor.value())[0]):
                found = cursor.next()
                continue
            if most == 0:
                return cursor.key()
            most -= 1
            cursor.delete()
            found = bool(cursor.key())
        return None

    @contextmanager
    def _writing(self) -> Iterator["lmdb.Transaction[bytes]"]:
        try:
            with _translated(), self._env.begin(write=True) as txn:
                self._give_up_spent()
                yield txn
        except StoreFault as fault:
            if type(fault) is StoreFault and self._disk_is_full():
                raise DiskFull("the disk has no room for the index") from fault
            raise

    def _disk_is_full(self) -> bool:
        # LMDB reports a write that was cut short by a full disk as an I/O error.
        try:
            free = os.statvfs(self.path)
        except OSError:  # a disk that is gone altogether, or a directory that was moved
            return False
        return free.f_bavail * free.f_frsize < _LEAST_FREE


def _sync_copy(copy: Path) -> None:
    """Set the mode of a copy and sync it: LMDB does neither, and a new name may reach the disk before the data."""
    file = os.open(copy, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fchmod(file, 0o600)
        os.fsync(file)
    finally:
        os.close(file)


def _readers(table: str) -> Iterator[tuple[int, str]]:
    """(process id, snapshot) from LMDB's table, which has a heading, or one line that says it is empty."""
    for line in table.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[0].isdigit():
            yield int(fields[0]), fields[2]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (lmdb.Error, OSError, StructError) as error:
        raise _fault(error) from error


def _fault(error: Exception) -> StoreFault:
    code = error.code if isinstance(error, lmdb.Error) else getattr(error, "errno", 0)
    words = getattr(error, "strerror", None) or error
    if isinstance(error, lmdb.ReadersFullError):
        return IndexFull("the index has as many readers as it can have")
    if isinstance(error, lmdb.MapFullError | lmdb.TxnFullError):
        return IndexFull("the index map is full")
    if isinstance(error, lmdb.PanicError):
        return IndexGivenUp("a write to it failed, and LMDB takes nothing more")
    if isinstance(error, _DAMAGED) or code in _NOT_AN_INDEX:
        return Damaged(f"the index is damaged: {words}")
    if code in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("the disk has no room for the index")
    return StoreFault(f"the index failed: {words}")
