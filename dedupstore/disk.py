"""The store on disk: containers in a file, an LMDB index, a cache of containers in memory (FORMAT.md).

`disk_cache` has what the store holds in memory, and `disk_reads` how it reads; here is how containers get to the disk,
and what happens if they do not.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate, islice, takewhile
from os import PathLike
from pathlib import Path

from dedupstore.change import Change
from dedupstore.container import Container, Layout
from dedupstore.disk_cache import MOST_UNWRITTEN
from dedupstore.disk_reads import DiskReads
from dedupstore.errors import Away, DiskFull, FileTooLong, IndexFull, StoreFault, StoreUnusable
from dedupstore.opening import close_files, open_files
from dedupstore.parts import warn_of_copies, warn_of_others
from dedupstore.pause import Pause
from dedupstore.store import CONTAINER_BYTES, StoreFigures

CACHE_BYTES = 160 << 20
LEAST_CACHE_BYTES = 8 * CONTAINER_BYTES

_TOGETHER_BYTES = MOST_UNWRITTEN // 2
"""Bytes of containers in one transaction, at most. Fingerprints are all over the index, so a small transaction writes
nearly as many of its pages as a large one. While these are written, as many may gather."""

_RELIEFS = 4
"""How often a transaction that found the index map full is tried again, each time after an old container was evicted.
"""

_LOOK_SECONDS = 60.0
"""Seconds between two looks at whether the store's files are still there, and copies that were set aside."""

_GROW_SECONDS = 60.0
_LONGEST_GROW_SECONDS = 3600.0
"""Seconds after a full disk until the store looks whether there is room again: at first, and at most. The time doubles
whenever the disk is full again."""
_GROWTH_MIN = 4
"""Slots by which the store then grows, at least; as many more have to be free, since it is not alone on the disk."""


class DiskStore(DiskReads):
    """Bounded, warm after a restart, and never trusted: each chunk is verified when it is read.

    Belongs to one process, and within it to one thread of each kind that store.py names.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        size_bytes: int,
        cache_bytes: int = CACHE_BYTES,
        clock: Callable[[], float] = time.time,
        new: Layout | None = None,
        *,
        walk: bool = False,
        keep: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open or create the store; reads the list of containers. `clock` tells seconds since the epoch.

        `new`: the layout of containers if there is no store yet; None: as suits its size. `walk`: check every page of
        the index before anything is looked up, even if it was closed in order. `keep`: set nothing aside, and drop
        nothing that a file too short does not have, or a smaller size has no room for. `sleep`: waits so many seconds.

        Raises StoreBusy, which names the holder, or StoreUnusable, which names the remedy.
        """
        if cache_bytes < LEAST_CACHE_BYTES:
            raise StoreUnusable(f"a store cache of {cache_bytes} bytes is too small; give it at least 32 MiB")
        files = open_files(Path(path), size_bytes, clock, new, walk=walk, keep=keep, sleep=sleep)
        self._owner = files.lock
        self._most_together = _TOGETHER_BYTES // files.containers.layout.slot_bytes
        try:
            super().__init__(files, StoreFigures("disk", size_bytes), cache_bytes, clock)
        except OSError as error:
            close_files(files.index, files.containers, files.lock, files.epochs[1:])  # no peer was told of the first
            wrong = f"there is no memory for a store cache of {cache_bytes >> 20} MiB; lower store.cache"
            raise StoreUnusable(wrong) from error
        self._opened = files.opened
        self._looking = Pause(clock, _LOOK_SECONDS, _LOOK_SECONDS)
        self._looking.begin()
        self._standing = Pause(clock, _GROW_SECONDS, _LONGEST_GROW_SECONDS)
        self._configured = self._most = self._raised = files.slots.limit
        """Numbers of slots: as configured; as the file system allows, as far as that is known; and as given out since
        the opening, or since the file last grew again, before any had to be given up."""
        self._announced = False
        self._taken = 0
        """How often the disk has taken a container or a page."""
        self._suspected: dict[int, int] = {}
        """Slots whose last write failed, and the value of `_taken` when that began."""

    def announce(self) -> None:
        """As ChunkStore says."""
        self._announced = True

    @property
    def whole(self) -> bool:
        """True if nothing is damaged, failing or lost. Copies that were set aside earlier do not count."""
        return self._alarms.keys() <= {"set-aside"}

    @property
    def write_due(self) -> bool:
        """As ChunkStore says."""
        return super().write_due or self._return_due or self._look_due or self._probe_due or self._growth_due

    def write(self) -> None:
        """As ChunkStore says."""
        if self._return_due:
            self._return()
        if self._is_away:
            with self._lock:
                self._unlearn(list(self._sealed.values()))
            return
        if self._look_due:
            self._look()
        if self._probe_due:
            self._probe()
        if self._growth_due:
            self._grow()
        for containers in self._transactions():
            self._write_together(containers)

    def _transactions(self) -> Iterator[list[Container]]:
        """The containers that wait, divided into transactions; each fits into the index at the time it is begun.

        There is at least one transaction, perhaps without containers: there may be notes.
        """
        with self._lock:
            waiting = list(islice(self._sealed.values(), self._most_together))
        while True:
            fitting = self._fitting(waiting)
            yield waiting[:fitting]
            waiting = waiting[fitting:]
            if not waiting:
                return

    def _write_together(self, containers: list[Container]) -> None:
        """Write these containers, and commit them together with the notes in one transaction."""
        written: list[Container] = []
        for container in containers:
            try:
                kept = self._write_container(container)
            except StoreFault as fault:
                if written:  # commit these first: the file may be cut behind the last container that the index knows
                    self._commit(written)
                written, kept = [], False
                self._write_failed(fault)
            if kept:
                written.append(container)
            else:
                with self._lock:
                    self._unlearn([container])
        self._commit(written)

    def verify(self, progress: Callable[[int, int], None] | None = None) -> tuple[int, int]:
        """Writer: read and verify everything; returns how many chunks are sound, and how many were dropped.

        Nothing that cannot be read is dropped: an alarm says how much that is. `progress` is called with (done, all)
        containers. Raises StoreFault if the disk gives nothing at all.
        """
        with self._lock:
            containers = list(self._roster)
            scratch = self._take_memory()
        sound, unread, invalid = 0, 0, self._figures.invalid
        for done, container in enumerate(containers, 1):
            try:
                sound += self._verify_container(container, scratch)
            except Away:  # nor would it give any other
                raise
            except StoreFault as fault:
                unread += 1
                self._tell_of_unread(f"{unread} of {len(containers)}", fault)
            if progress:
                progress(done, len(containers))
        self._slab.give(scratch)
        self._write_all()
        return sound, self._figures.invalid - invalid

    def close(self) -> None:
        """As ChunkStore says. Waits for the disk."""
        with self._lock:
            for writer in list(self._open):
                self._seal_open(writer)
        self._write_all()
        epochs = self.epochs if self._announced else self.epochs[1:]
        close_files(self._index, self._file, self._owner, None if self._doubtful else epochs)
        self._places.clear()
        self._containers.clear()
        del self._slab

    def _fitting(self, containers: list[Container]) -> int:
        """How many of these fit into one transaction: with more than the index has room for, the oldest container would
        be evicted though there are free slots."""
        with suppress(StoreFault):  # the fault shows again when they are committed
            room = self._index.room() if len(containers) > 1 else 0
            return max(1, sum(1 for _ in takewhile(room.__ge__, accumulate(map(self._keys_with, containers)))))
        return len(containers)

    def _keys_with(self, container: Container) -> int:
        """How many keys of the index change with this container, and with the one whose slot it takes.

        The latter are taken to be at least as many as its own.
        """
        own, displaced = len(container.fingerprints), self._look_up_displaced(self._roster[container.id].slot)
        return own + max(own, len(displaced))

    def _write_all(self) -> None:
        self.write()
        while self._sealed:  # what cannot be written is dropped, so this ends
            self.write()
        with self._lock:
            unrecorded = self._gone.removed()
        if unrecorded:  # went for a full disk, and what it gave back may be room to say so in the index
            self.write()

    @property
    def _look_due(self) -> bool:
        return not (self._doubtful or self._learns_nothing or self._looking.holds)

    def _look(self) -> None:
        self._looking.begin()
        with suppress(OSError):
            warn_of_others(self._opened, self._alarms)
            warn_of_copies(self._path, self._alarms)

    @property
    def _probe_due(self) -> bool:
        failing = "write" in self._alarms or ("index" in self._alarms and not self._doubtful)
        return failing and not (self._sealed or self._learns_nothing)

    def _probe(self) -> None:
        """See whether the disk takes data again: if little comes, it may be days until a container is full. (Whether
        the index does is seen by the transaction that follows.)"""
        try:
            self._file.probe()
        except StoreFault as fault:  # also of a full disk: making room here would cost a container each second
            with self._lock:
                self._take_nothing(fault)
        else:
            self._has_taken()

    @property
    def _growth_due(self) -> bool:
        return self._slots.limit < self._most and not (self._failing.holds or self._standing.holds)

    def _grow(self) -> None:
        """Use more slots again if the disk has room: at most half of the room, since other files grow as well."""
        self._standing.repeat()
        more = 0
        with suppress(StoreFault):
            more = self._file.room() // (2 * self._layout.slot_bytes)
        if more < _GROWTH_MIN:
            return
        with self._lock:
            limit = min(self._most, self._slots.limit + more)
            self._slots.raise_limit(limit, {self._roster[container].slot for container in self._roster})
            self._raised = limit
            self._tell_of_room()

    # Containers

    def _write_container(self, container: Container) -> bool:
        """Write a container to its slot; False if the file may no longer grow so far. Raises StoreFault."""
        slot = self._roster[container.id].slot
        self._look_up_displaced(slot)
        with self._lock:
            self._gone.overwrite(slot)
        if slot > self._slots.limit:
            return False
        try:
            self._file.write(slot, container.encode())
        except StoreFault as fault:
            if not isinstance(fault, DiskFull):
                self._suspect(slot, fault)
            raise
        self._suspected.pop(slot, None)
        self._has_taken()
        return True

    def _has_taken(self) -> None:
        self._taken += 1
        self._alarms.pop("write", None)

    def _suspect(self, slot: int, fault: StoreFault) -> None:
        """Give up a slot that fails again while the disk takes other data: being free, it would always be the next one.

        A disk that is absent now and then, as on a network, fails with each slot that is tried meanwhile.
        """
        if self._suspected.setdefault(slot, self._taken) == self._taken or not self._takes_a_page():
            return
        unfit = self._slots.unfit
        with self._lock:
            unfit.add(slot)
            less = len(unfit) * self._layout.slot_bytes >> 20
            self._alarms["unfit"] = (
                f"Store {self._path} does without {less} MiB of its file, which cannot be written ({fault}); "
                "replace the disk, and restart."
            )

    def _takes_a_page(self) -> bool:
        try:
            self._file.probe()
        except StoreFault:
            return False
        return True

    def _look_up_displaced(self, slot: int) -> list[bytes]:
        """The chunks that go with the container whose slot is about to be written over; none if there is none."""
        with self._lock:
            displaced = self._gone.displaced(slot)
            names = self._gone.names(displaced) if displaced is not None else []
        if displaced is not None and names is None:
            names = self._directory(slot, displaced)
            with self._lock:
                self._gone.remove(displaced, names)
        return names or []

    # Transactions

    def _commit(self, written: list[Container]) -> None:
        change = self._change(written)
        if not change and "index" not in self._alarms:
            return
        try:
            self._make_room_in_index(change)
            self._commit_or_relieve(change)
        except StoreFault as fault:
            size = 0
            with suppress(StoreFault):  # a disk that is gone altogether does not say
                size = self._file.size()
            with self._lock:
                less = self._not_committed(change, written, fault, size)
            if less:
                self._cut()
        else:
            with self._lock:
                self._committed(change, written)

    def _change(self, written: list[Container]) -> Change:
        known = {container.id for container in written}
        with self._lock:
            return Change(
                next=self._next,
                removed=self._gone.removed(),
                added=[(container, self._roster[container.id]) for container in written],
                lost=dict(self._gone.lost),
                rows={changed: self._roster[changed] for changed in self._gone.changed() if self._settled(changed)},
                notes=self._beliefs.changes(lambda container: container in known or self._settled(container)),
            )

    def _committed(self, change: Change, written: list[Container]) -> None:
        self._index.refresh()
        self._beliefs.written()
        self._settle(written)
        self._gone.committed(change)
        if written:
            self._failing.end()
        if not self._doubtful:
            self._alarms.pop("index", None)

    def _not_committed(self, change: Change, written: list[Container], fault: StoreFault, size: int) -> bool:
        """`size`: of the file of containers, in bytes; 0: unknown. Returns True if that is to be cut."""
        self._beliefs.give_back()
        self._gone.refused(change)
        self._unlearn(written)
        relieved = isinstance(fault, DiskFull) and self._stop_growing(fault, size)
        if not relieved:
            self._index_failed(fault)
        if not (relieved and written):  # notes alone would be tried each second, and give up a container each time
            self._fail()
        return relieved

    # A full index

    def _make_room_in_index(self, change: Change) -> None:
        while change.added and self._index.crowded(change) and self._evict_for_index(change):
            pass

    def _commit_or_relieve(self, change: Change) -> None:
        for _ in range(_RELIEFS):
            try:
                self._index.commit(change)
                return
            except IndexFull:
                self._relieve_index(change)
        self._index.commit(change)

    def _relieve_index(self, change: Change) -> None:
        """Free pages of the map. Raises IndexFull, which names the process, if another process holds them."""
        self._index.clear_dead_readers()
        holders = ", ".join(map(str, self._index.foreign_readers()))
        if holders:
            raise IndexFull(f"the index map is full of pages that process {holders} reads; end that process")
        if self._index.chunks() > self._roster.chunks:
            self._index.sweep(self._settled)
        self._evict_for_index(change)

    def _evict_for_index(self, change: Change) -> bool:
        """Evict the oldest container and commit that at once, so that its index pages become free. False: none may go.

        The change that needs the pages must note nothing about that container: nothing would ever remove it again.
        """
        with self._lock:
            oldest = self._roster.evictable()
            if oldest is None:
                return False
            row = self._evict(oldest)
            names = self._gone.names(oldest)
        change.forget(oldest)
        if names is None:
            names = self._directory(row.slot, oldest)
        removal = Change(self._next, removed={oldest: names})
        with self._lock:
            self._gone.remove(oldest, names)
            self._slots.give(row.slot)
        self._index.commit(removal)
        with self._lock:
            self._index.refresh()
            self._gone.committed(removal)
        return True

    # A failing disk. The caller holds the lock, except where it says otherwise

    def _write_failed(self, fault: StoreFault) -> None:
        """A container could not be written. Takes the lock."""
        with self._lock:
            less = isinstance(fault, DiskFull) and self._stop_growing(fault)
            if not less:
                self._take_nothing(fault)
        if less:
            self._cut()

    def _take_nothing(self, fault: StoreFault) -> None:
        self._alarms["write"] = (
            f"Store {self._path} takes nothing new ({fault}); see to the disk. Traffic passes unlearned."
        )
        self._fail()

    def _fail(self) -> None:
        """Learn nothing for 10 s, then try again; twice as long each time that fails."""
        if not self._failing.holds:
            self._failing.begin()

    def _stop_growing(self, fault: DiskFull, size: int = 0) -> bool:
        """The disk is full, or the file may not be longer: use no slot above those in use.

        Otherwise slots behind the file's end would fail one by one, and nothing would be learned. Returns False if this
        changes nothing. If True, the caller has to `_cut`: what lies behind the last slot goes back to the disk, since
        the index needs room, too. If nothing lies there (as `size`, the file's, shows), or the file had stopped growing
        already, the last slot's container goes as well: containers differ in length, so those to come may need more
        room than those that were there.
        """
        highest = max((self._roster[one].slot for one in self._roster if self._settled(one)), default=0)
        if highest >= self._slots.limit or 0 < size <= (highest + 1) * self._layout.slot_bytes:
            highest = self._give_up(highest)
        if highest >= self._slots.limit:
            return False
        first, self._slots.limit = self._slots.limit == self._raised, highest
        self._gone.cut(highest)
        if isinstance(fault, FileTooLong):
            self._most = highest
        elif first:  # later faults may be of the same full disk
            self._standing.begin()
        self._tell_of_room()
        return True

    def _tell_of_room(self) -> None:
        limit = self._slots.limit
        if limit == self._configured:
            self._alarms.pop("room", None)
            return
        if limit < self._most:
            why, remedy = "The disk is full", "make room, and it grows again"
        else:
            why = "No file may be longer on this file system"
            remedy = "put the store on one that takes longer files, and restart"
        size = limit * self._layout.slot_bytes >> 20
        self._alarms["room"] = (
            f"{why}: store {self._path} stays at {size} MiB, less than was configured; {remedy}, or configure less."
        )

    def _cut(self) -> None:
        """Cut the file behind the last slot. Without the lock: the disk may take long for it."""
        with suppress(StoreFault):
            self._file.cut(self._slots.limit)

    def _give_up(self, slot: int) -> int:
        """Drop the container in that slot unless it is pinned; returns the highest slot that remains."""
        for container in self._roster:
            if self._roster[container].slot == slot and not self._roster.pinned(container):
                self._evict(container)
                self._gone.remove(container, [])
                return slot - 1
        return slot
