"""Both stores against a plain model: whatever is done to them, they hold what the model holds, and give it exactly.

The model keeps chunks in a list of containers, oldest first. It takes from the store only where a chunk was put, and
checks that the place is one that the rules allow.
"""

import os
import shutil
import tempfile
from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dedupstore import open_store, scatter
from dedupstore.beliefs import RecordedBeliefs
from dedupstore.container import LARGE as LARGE_SLOTS
from dedupstore.container import SMALL
from dedupstore.disk import DiskStore
from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.scatter import Scatter
from dedupstore.store import CONTAINER_BYTES, NOT_REPEATED, ChunkStore, Place
from tests.conformance.copying import copy_with_holes
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, name_of

DISK_BYTES = 64 << 20
MEMORY_BYTES = 28 << 20
PEERS = [bytes([n]) * 16 for n in range(3)]

lengths = st.sampled_from([1, 5000, 70_000, LARGE, LARGE, LARGE])
numbers = st.integers(0, 400)


class StoreMachine(RuleBasedStateMachine):
    """What both stores can do; `open` and `slots` differ."""

    slots: int
    store: ChunkStore

    def __init__(self) -> None:
        super().__init__()
        self.containers: dict[int, list[tuple[bytes, int, int] | None]] = {}
        self.pins: Counter[int] = Counter()
        self.beliefs: dict[tuple[bytes, int], int] = {}
        self.epochs: dict[bytes, bytes] = {}
        self.last = 0
        self.open_container = 0
        self.displaced: tuple[int, list[tuple[bytes, int, int] | None]] | None = None
        """What the open container took the place of."""
        self.crashed = False
        """The next id is unknown: whether ids of lost containers were written down depends."""

    def place_of(self, name: bytes) -> Place | None:
        for container, entries in self.containers.items():
            for entry, held in enumerate(entries):
                if held is not None and held[0] == name:
                    return (container, entry)
        return None

    def forget(self, container: int) -> None:
        del self.containers[container]
        for peer in PEERS:
            self.beliefs.pop((peer, container), None)

    @rule(first=numbers, count=st.integers(1, 40), length=lengths)
    def put(self, first: int, count: int, length: int) -> None:
        for number in range(first, first + count):
            self.put_one(number, length)

    @rule(first=numbers, containers=st.integers(1, 6))
    def fill(self, first: int, containers: int) -> None:
        """Containers full of large chunks, with the disk keeping up."""
        for number in range(first * 100, first * 100 + containers * A_CONTAINER):
            self.put_one(number, LARGE)
            if self.store.unwritten:
                self.write()

    def write(self) -> None:
        self.store.write()

    def put_one(self, number: int, length: int) -> None:
        data = chunk(number, length)
        name = name_of(number, length)
        known = self.place_of(name)
        place = self.store.put(name, data)
        if known is not None or place is None:
            assert place == known
            if known is None:
                assert self.may_refuse()
                self.open_container = 0  # it was full, and there was no room for another
            return
        self.check_new(place)
        self.containers[place[0]].append((name, number, length))

    def check_new(self, place: Place) -> None:
        if place[0] == self.open_container:
            assert place[1] == len(self.containers[place[0]])
            return
        assert place[1] == 0
        assert place[0] == self.last + 1 or (self.crashed and place[0] > self.last)
        self.crashed = False
        if len(self.containers) == self.slots:
            oldest = min(self.evictable())
            self.displaced = (oldest, self.containers[oldest])
            self.forget(oldest)
        else:
            self.displaced = None
        self.last = self.open_container = place[0]
        self.containers[place[0]] = []

    def may_refuse(self) -> bool:
        return len(self.containers) == self.slots and not self.evictable()

    def evictable(self) -> list[int]:
        """A pinned container is passed over."""
        return [container for container in self.containers if not self.pins[container]]

    @rule(number=numbers, length=lengths)
    def find(self, number: int, length: int) -> None:
        name = name_of(number, length)
        assert self.store.find(name) == self.place_of(name)

    @precondition(lambda self: self.containers)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        container = data.draw(st.sampled_from(sorted(self.containers)))
        for entry, held in enumerate(self.containers[container]):
            if held is not None:
                self.read_one((container, entry), *held)

    def names(self) -> list[bytes]:
        """Of some chunks that there are, and of one that there is not."""
        some = [entries[-1] for entries in self.containers.values() if entries]
        return [name_of(10**6), *(held[0] for held in some if held is not None)]

    def read_one(self, place: Place, name: bytes, number: int, length: int) -> None:
        found = self.store.read(name)
        if found is None:
            self.store.load(name, soon=self.names())
            found = self.store.read(name)
        assert found == chunk(number, length)

    @rule(number=st.integers(10**6, 10**7))
    def read_unknown(self, number: int) -> None:
        with pytest.raises(ChunkMissing) as caught:
            self.store.read(name_of(number))
        assert caught.value.fingerprint == name_of(number)

    @precondition(lambda self: self.containers)
    @rule(data=st.data())
    def pin(self, data: st.DataObject) -> None:
        container = data.draw(st.sampled_from(sorted(self.containers)))
        self.store.pin(container)
        self.pins[container] += 1

    @precondition(lambda self: self.pins.total())
    @rule(data=st.data())
    def unpin(self, data: st.DataObject) -> None:
        container = data.draw(st.sampled_from(sorted(+self.pins)))
        self.store.unpin(container)
        self.pins[container] -= 1

    @rule(peer=st.sampled_from(PEERS), container=st.integers(0, 60), bits=st.integers(0, (1 << 1136) - 1))
    def believe(self, peer: bytes, container: int, bits: int) -> None:
        self.store.believe(peer, container, bits)
        if container in self.containers:
            self.beliefs[peer, container] = bits

    @rule(peer=st.sampled_from(PEERS), epoch=st.binary(min_size=8, max_size=8))
    def remember(self, peer: bytes, epoch: bytes) -> None:
        self.store.remember(peer, epoch)
        self.epochs[peer] = epoch

    @rule(peer=st.sampled_from(PEERS))
    def disbelieve(self, peer: bytes) -> None:
        self.store.disbelieve(peer)
        self.epochs.pop(peer, None)
        for key in [key for key in self.beliefs if key[0] == peer]:
            del self.beliefs[key]

    @rule()
    def following(self) -> None:
        for container, entries in self.containers.items():
            for entry, (held, after) in enumerate(pairwise(entries)):
                known = self.store.following((container, entry))
                if held is not None and after is not None and known is not None:
                    assert known == (after[0], (container, entry + 1))

    @rule(most=st.integers(1, 3 * LARGE), changed=st.integers(0, 3 * LARGE))
    def repeated(self, most: int, changed: int) -> None:
        for container, entries in self.containers.items():
            for entry in range(max(0, len(entries) - 4), len(entries) - 1):
                behind = [held for held in entries[entry + 1 :] if held is not None]
                data = bytearray(b"".join(chunk(number, length) for _, number, length in behind)[:most])
                if changed < len(data):
                    data[changed] ^= 1
                found = self.store.repeated((container, entry), memoryview(data))
                if found != NOT_REPEATED:
                    same = min(changed, len(data))
                    ends = [end for end in accumulate(length for _, _, length in behind) if end <= same]
                    names = [name for name, _, _ in behind[: len(ends)]]
                    assert found == (same, (container, entry + 1), ends, names)

    @rule(count=st.integers(1, 4), most=st.integers(1, 3 * LARGE))
    def read_behind(self, count: int, most: int) -> None:
        for container, entries in self.containers.items():
            for entry in range(max(0, len(entries) - 5), len(entries) - 1):
                behind = entries[entry + 1 : entry + 1 + count]
                names = [held[0] if held is not None else name_of(10**6) for held in behind]
                found, data = self.store.read_behind((container, entry), names, most)
                expected = b"".join(chunk(held[1], held[2]) for held in behind[:found] if held is not None)
                assert data == expected
                assert len(data) <= most
                assert None not in behind[:found]

    @invariant()
    def beliefs_agree(self) -> None:
        for peer in PEERS:
            assert self.store.recall(peer) == self.epochs.get(peer)
            for container in self.containers:
                assert self.store.belief(peer, container) == self.beliefs.get((peer, container), 0)

    @invariant()
    def figures_agree(self) -> None:
        figures = self.store.figures()
        chunks = [held for entries in self.containers.values() for held in entries if held is not None]
        assert figures.chunks == len(chunks)
        assert figures.used_bytes == sum(length for _, _, length in chunks)
        assert figures.containers == len(self.containers)

    def teardown(self) -> None:
        for container, entries in self.containers.items():
            for entry, held in enumerate(entries):
                assert held is None or self.store.find(held[0]) == (container, entry)
        self.store.close()


class MemoryMachine(StoreMachine):
    slots = MEMORY_BYTES // CONTAINER_BYTES

    @initialize()
    def open(self) -> None:
        self.store = open_store("memory", MEMORY_BYTES)


class DiskMachine(StoreMachine):
    slots = 11
    layout = LARGE_SLOTS
    store: DiskStore

    @initialize()
    def open(self) -> None:
        in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # many syncs
        self.directory = Path(tempfile.mkdtemp(prefix="isthmus-store-", dir=in_memory))
        self.count = 0
        self.written: set[int] = set()
        self.damaged: set[bytes] = set()
        self.path = self.directory / "0"
        self.announced = False
        self.store = self.open_store()

    def open_store(self) -> DiskStore:
        return DiskStore(self.path, DISK_BYTES, cache_bytes=32 << 20, new=self.layout)

    def may_refuse(self) -> bool:
        return super().may_refuse() or self.store.unwritten > 8 << 20

    def evictable(self) -> list[int]:
        """So is one that waits to be written."""
        return [container for container in super().evictable() if container in self.written]

    @rule()
    def write(self) -> None:
        self.store.write()
        assert self.store.unwritten == 0
        self.written = set(self.containers) - {self.open_container}

    @rule()
    def prefetch(self) -> None:
        for entries in list(self.containers.values())[:2]:
            if entries and entries[0] is not None:
                self.store.prefetch(entries[0][0])

    @precondition(lambda self: self.written & set(self.containers))
    @rule(data=st.data())
    def damage(self, data: st.DataObject) -> None:
        """A bit flips on disk. The container's slot is not known here, so it is looked for."""
        container = data.draw(st.sampled_from(sorted(self.written & set(self.containers))))
        entry = data.draw(st.integers(0, len(self.containers[container]) - 1))
        held = self.containers[container][entry]
        if held is None:
            return
        with (self.path / "containers").open("r+b") as file:
            offset = self.offset(file, container, entry)
            file.seek(offset)
            byte = file.read(1)
            file.seek(offset)
            file.write(bytes([byte[0] ^ 0x10]))
        self.damaged ^= {held[0]}

    def offset(self, file: Any, container: int, entry: int) -> int:
        for slot in range(1, self.slots + 1):
            file.seek(slot * self.layout.slot_bytes)
            head = file.read(self.layout.data_offset)
            if head[:16] == b"ISTHCONT" + container.to_bytes(8, "little"):
                sizes = [int.from_bytes(head[96 + 36 * n : 100 + 36 * n], "little") for n in range(entry)]
                return slot * self.layout.slot_bytes + self.layout.data_offset + sum(sizes)
        raise AssertionError(f"container {container} was written")

    def read_one(self, place: Place, name: bytes, number: int, length: int) -> None:
        try:
            super().read_one(place, name, number, length)
        except ChunkInvalid:
            assert name in self.damaged
            self.damaged.discard(name)
            self.containers[place[0]][place[1]] = None
            assert self.store.find(name) is None

    @rule()
    def verify(self) -> None:
        before = self.store.figures().chunks
        sound, dropped = self.store.verify()
        assert sound + dropped == before
        self.written = set(self.containers) - {self.open_container}
        for entries in self.containers.values():
            for entry, held in enumerate(entries):
                if held is not None and self.store.find(held[0]) is None:
                    assert held[0] in self.damaged
                    self.damaged.discard(held[0])
                    entries[entry] = None

    @rule()
    def announce(self) -> None:
        """Otherwise the epoch is taken back at the close."""
        self.store.announce()
        self.announced = True

    @rule()
    def reopen(self) -> None:
        identity, epochs = self.store.identity, self.store.epochs
        self.store.close()
        self.store = self.open_store()
        stay = epochs if self.announced else epochs[1:]
        assert (self.store.identity, self.store.epochs[1:]) == (identity, stay[:15])
        self.announced = False
        self.written = set(self.containers)
        self.open_container = 0
        self.pins.clear()
        assert self.store.alarms == ()

    @rule()
    def crash(self) -> None:
        """What is on disk now is all there is: a copy of the directory goes on in its place."""
        self.write()
        self.count += 1
        before, self.path = self.path, self.directory / str(self.count)
        copy_with_holes(before, self.path)
        self.store.close()
        shutil.rmtree(before)
        self.store = self.open_store()
        self.announced = False
        if self.open_container:
            self.lose_open_container()
        self.pins.clear()
        assert self.store.alarms == ()

    def lose_open_container(self) -> None:
        """It is gone, and what it would have taken the place of is still there, with what was believed then."""
        self.forget(self.open_container)
        self.open_container = 0
        self.crashed = True
        if self.displaced:
            container, entries = self.displaced
            self.containers = dict(sorted({container: entries, **self.containers}.items()))
            for peer in PEERS:
                self.beliefs[peer, container] = self.store.belief(peer, container) or 0
        self.written = set(self.containers)
        self.last = max(self.containers, default=0)

    def teardown(self) -> None:
        if not hasattr(self, "directory"):
            return
        try:
            super().teardown()
        finally:  # a failure is tried again hundreds of times
            shutil.rmtree(self.directory)


class SmallSlotsMachine(DiskMachine):
    slots = 23
    layout = SMALL


QUICK = settings(max_examples=40, stateful_step_count=40, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def little_belief_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is written down is looked up again, beside what is not."""
    monkeypatch.setattr(RecordedBeliefs, "MOST_HELD", 4)


def test_memory_store() -> None:
    run_state_machine_as_test(MemoryMachine, settings=QUICK)


def test_disk_store() -> None:
    run_state_machine_as_test(DiskMachine, settings=QUICK)


def test_disk_store_with_small_slots() -> None:
    run_state_machine_as_test(SmallSlotsMachine, settings=QUICK)


def test_disk_store_read_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are read alone, and now and then a container."""
    monkeypatch.setattr(Scatter, "scattered", True)
    monkeypatch.setattr(scatter, "_WORTH_LOADING", 1 / 3)
    run_state_machine_as_test(SmallSlotsMachine, settings=QUICK)
