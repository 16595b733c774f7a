"""The store's threads: writes and reads do not wait for each other, and each stream hears of what it waited for."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import cast

import pytest

from dedupstore.disk_cache import FOR_READING
from dedupstore.store import ChunkStore
from proxy.net.reading import Reading
from proxy.net.worker import StoreWorker
from tests.patience import PATIENCE, at_best, eventually

NAME = bytes(32)


class Store:
    """Its disk answers when it is let."""

    def __init__(self) -> None:
        self.disk = threading.Event()
        self.writes = self.disk
        """Set when it takes writes."""
        self.done: list[str] = []
        self.unwritten = 2
        self.unwritten_max = 1
        self.write_due = False
        self.told: list[bytes] = []

    def load(self, name: bytes, *, whole: bool = False, soon: Iterable[bytes] = ()) -> None:
        self.disk.wait(PATIENCE)
        self.done.append("load")
        self.told = [*soon]

    def prefetch(self, name: bytes, *, spare: bool = False) -> None:
        self.disk.wait(PATIENCE)
        self.done.append("prefetch")

    def write(self) -> None:
        self.writes.wait(PATIENCE)
        self.done.append("write")
        self.unwritten = 0

    def close(self) -> None:
        """Nothing to release."""


@asynccontextmanager
async def worker_of(store: Store) -> AsyncIterator[StoreWorker]:
    worker = StoreWorker(cast(ChunkStore, store))
    try:
        yield worker
    finally:
        store.disk.set()
        store.writes.set()
        await worker.close()


def broken() -> None:
    raise RuntimeError("a defect of one stream")


async def load() -> None:
    store, woken = Store(), asyncio.Event()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        for call in (broken, woken.set):
            worker.load(NAME, call)
        store.disk.set()
        await woken.wait()


async def rest() -> None:
    store, woken = Store(), asyncio.Event()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        assert worker.congested
        for call in (broken, woken.set):
            worker.when_relieved(call)
        store.disk.set()
        await woken.wait()


async def note(noted: bool) -> list[str]:
    store = Store()
    async with worker_of(store) as worker:
        store.unwritten, store.write_due = 0, noted
        store.disk.set()
        worker.kick()
        worker.note()
    return store.done


async def load_behind() -> None:
    store, woken = Store(), asyncio.Event()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        worker.load_behind(NAME, broken)
        worker.load_behind(NAME, woken.set)
        store.disk.set()
        await woken.wait()
    assert store.done == ["load", "prefetch", "prefetch"]


def test_what_comes_behind_a_chunk_is_loaded_after_its_own_container() -> None:
    asyncio.run(load_behind())


async def load_and_tell() -> list[bytes]:
    store, woken = Store(), asyncio.Event()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        worker.load(NAME, woken.set, soon=[b"next"])
        store.disk.set()
        await woken.wait()
    return store.told


def test_the_store_hears_what_is_wanted_next() -> None:
    assert asyncio.run(load_and_tell()) == [b"next"]


def test_who_waits_for_a_chunk_hears_of_it_whatever_another_makes_of_it() -> None:
    asyncio.run(load())


def test_who_rests_goes_on_whatever_another_makes_of_it() -> None:
    asyncio.run(rest())


async def fail_to_write() -> list[str]:
    store = Store()
    store.disk.set()

    def write() -> None:
        store.done.append("write")
        if len(store.done) < 3:
            raise RuntimeError("a defect of the store")
        store.unwritten = 0

    store.write = write  # type: ignore[method-assign]
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        assert worker.kick()
        await worker_idle(worker)
        assert not worker.kick(), "and nobody rests"
        await worker_idle(worker)
        assert store.done == ["write"]
        for _ in range(2):  # two seconds
            worker.note()
            await worker_idle(worker)
        store.unwritten = 2
        assert worker.kick()
    return store.done


async def worker_idle(worker: StoreWorker) -> None:
    """What the writer was given is done, and the loop has heard of it."""
    await asyncio.get_running_loop().run_in_executor(worker._writer, int)
    await asyncio.sleep(0)


def test_a_write_that_ends_by_a_defect_is_tried_again_with_the_next_second() -> None:
    assert asyncio.run(fail_to_write()) == ["write"] * 4


def test_notes_are_written_though_no_container_waits() -> None:
    assert asyncio.run(note(noted=True)) == ["write"]
    assert asyncio.run(note(noted=False)) == []


async def gather(unwritten: int) -> list[str]:
    store = Store()
    async with worker_of(store) as worker:
        store.unwritten, store.unwritten_max = unwritten, 16 << 20
        store.disk.set()
        worker.kick()
    return store.done


def test_containers_share_a_transaction_as_long_as_as_many_may_come_meanwhile() -> None:
    assert asyncio.run(gather(8 << 20)) == []
    assert asyncio.run(gather(9 << 20)) == ["write"]


async def read_while_a_write_hangs() -> list[str]:
    store, woken = Store(), asyncio.Event()
    store.writes = threading.Event()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        worker.kick()
        worker.load(NAME, woken.set)
        store.disk.set()
        await woken.wait()
        return list(store.done)


def test_who_reads_does_not_wait_for_a_write() -> None:
    assert asyncio.run(read_while_a_write_hangs()) == ["load"]


async def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second somebody looks; the disk is asked and does not answer."""
    monkeypatch.setattr("proxy.net.worker.PATIENCE", PATIENCE)
    store, told = Store(), []
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        worker.load(NAME, lambda: told.append("patient"))
        worker.load(NAME, lambda: told.append("impatient"), patient=False)
        worker.load_behind(NAME, lambda: told.append("behind"))
        worker.note()
        assert told == []
        monkeypatch.setattr("proxy.net.worker.PATIENCE", 0.01)
        await eventually(worker.is_silent)
        worker.note()
        worker.note()
        assert told == ["impatient", "behind"]
        store.disk.set()
        await eventually(lambda: len(told) >= 5)
        assert told[2:] == ["patient", "impatient", "behind"]
        assert not worker.is_silent()


def test_who_need_not_wait_hears_that_the_disk_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(impatient(monkeypatch))


async def guess() -> list[str]:
    store, woken = Store(), asyncio.Event()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        for n in range(1, 1000):
            worker.guess(n.to_bytes(32))
            worker.prefetch(NAME)
        worker.load(NAME, woken.set)
        store.disk.set()
        await woken.wait()
        return list(store.done)


async def turns() -> list[str]:
    """Who had a container read for it, while one has many waiting before the other asks for two."""
    store, done, told, many, few = Store(), asyncio.Event(), list[str](), Reading(), Reading()

    def last() -> None:
        told.append("few")
        done.set()

    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        for n in range(100):
            worker.load(n.to_bytes(32), lambda: told.append("many"), many)
        worker.load(NAME, lambda: told.append("few"), few, patient=False)
        worker.load_behind(NAME, last, few)
        store.disk.set()
        await done.wait()
        return told


def test_who_has_much_read_keeps_nobody_else_waiting() -> None:
    """Not for the same chunk, either."""
    told = asyncio.run(turns())
    assert told.count("few") == 2
    assert len(told) < 20


async def loads() -> int:
    """While the loop sees to something else; how many were done."""
    store, done = Store(), asyncio.Event()
    store.disk.set()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        for n in range(20):
            worker.load(n.to_bytes(32), done.set)
        time.sleep(0.1)  # noqa: ASYNC251 (the loop is busy)
        so_many = len(store.done)
        await done.wait()
        return so_many


def test_what_was_loaded_is_not_driven_out_while_the_loop_is_busy() -> None:
    assert asyncio.run(loads()) < FOR_READING


async def rate_while_busy() -> int | None:
    """Of a store that reads at once, while the loop sees to other things and is told of each load late."""
    store, reading, ended = Store(), Reading(), asyncio.Semaphore(0)
    store.disk.set()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        worker.load(NAME, ended.release, reading)
        for n in range(1, 30):
            worker.load(n.to_bytes(32), ended.release, reading)
            time.sleep(0.02)  # noqa: ASYNC251 (the loop is busy)
            await ended.acquire()
        await ended.acquire()
        assert reading.idle
        reading.gave(16 << 20)
        return worker.rate_of(reading)


def test_a_disk_does_not_seem_slow_because_the_loop_is_busy() -> None:
    assert at_best(lambda: asyncio.run(rate_while_busy()), lambda rate: rate is None) is None


async def rate_of_silent() -> int:
    store, reading = Store(), Reading()
    async with worker_of(store) as worker, asyncio.timeout(PATIENCE):
        worker.load(NAME, asyncio.Event().set, reading)
        reading.gave(1 << 20)
        while (rate := worker.rate_of(reading)) is None:  # noqa: ASYNC110 (it is reckoned when asked)
            await asyncio.sleep(0.5)
        return rate


def test_a_disk_that_does_not_answer_gives_little() -> None:
    assert 0 < asyncio.run(rate_of_silent()) <= 4 << 20


def test_what_is_only_guessed_does_not_pile_up() -> None:
    done = asyncio.run(guess())
    assert done.count("prefetch") < 50
    assert done[-1] == "load"
    assert len(done) < 50
