"""A store's disk does not answer for a while: traffic passes, the status answers, and all is well when it is back."""

import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from bench.sites import Site
from dedupstore import open_store
from tests.integration.bed.answering import answering
from tests.integration.bed.contents import volume
from tests.integration.bed.disks import failing_disk, silent
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, drain, run

old, new, following = (partial(volume, name, 16 << 20) for name in ("old", "new", "next"))
SILENCE = 10.0
"""Seconds at least, with traffic in all of them."""
PAUSE = 0.4
"""Between passes."""
RELEASE = 'sleep 30; exec fsfreeze --unfreeze "$0"'


@pytest.mark.patient
@pytest.mark.root
@pytest.mark.parametrize("where", ["east", "west"])
def test_a_disk_that_does_not_answer(bed: Bed, tmp_path: Path, where: str) -> None:
    with failing_disk(tmp_path / "disk", tmp_path / "image", 160) as disk, Array() as array:
        sound = {"mode": "memory", "size": "64MiB"}  # a host that stands still leaves chunks of a disk unlearned, too
        mute = {"mode": "disk", "size": "64MiB", "path": str(disk / "store")}
        pair = bed.pair(array.address, stores=(mute, sound) if where == "east" else (sound, mute))
        run(*pair.sites)
        replicate(pair, old())
        with answering(*pair.sites), silent(disk):
            end = time.monotonic() + SILENCE
            while time.monotonic() < end:
                for content in (old(), new()):
                    replicate(pair, content)
                    time.sleep(PAUSE)
        replicate(pair, following())
        settled(getattr(pair, where))
        assert cost(pair, following()) < 0.1
        drain(*pair.sites)


@pytest.mark.root
def test_what_is_on_a_disk_that_takes_no_writes_is_read_from_it(bed: Bed, tmp_path: Path) -> None:
    """What is read does not wait behind what cannot be written."""
    with failing_disk(tmp_path / "disk", tmp_path / "image", 320) as disk, Array() as array:
        small = {"mode": "disk", "size": "256MiB", "path": str(disk / "store"), "cache": "32MiB"}
        pair = bed.pair(array.address, stores=({"mode": "memory", "size": "256MiB"}, small))
        run(*pair.sites)
        for content in (old(), volume("what drives it out of the cache", 64 << 20)):
            replicate(pair, content)
        settled(pair.west)
        loads = pair.west.status()["store"]["loads"]
        with silent(disk):
            replicate(pair, new())
            assert cost(pair, old()) < 0.1
            assert pair.west.status()["store"]["unwritten_bytes"] > 0
        assert pair.west.status()["store"]["loads"] > loads
        drain(*pair.sites)


@pytest.mark.root
def test_whoever_waits_for_the_index_halts_nobody(tmp_path: Path) -> None:
    """The first thing that needs the disk is the index's table of readers, where a snapshot is given up."""
    with failing_disk(tmp_path / "disk", tmp_path / "image", 160) as disk:
        store = open_store("disk", 64 << 20, disk / "store")
        for epoch in (b"first ep", b"other ep"):
            store.remember(b"the peer's store", epoch)
            store.write()
        with silent(disk), subprocess.Popen(["sh", "-c", RELEASE, disk]) as release:
            store.remember(b"the peer's store", b"third ep")
            writer = threading.Thread(target=store.write, daemon=True)
            writer.start()
            time.sleep(1)  # which lasts as long as the silence, if the interpreter's lock is held
            assert release.poll() is None
            assert writer.is_alive()
            release.kill()
        writer.join()
        assert store.recall(b"the peer's store") is not None
        store.close()


@pytest.mark.root
def test_the_first_question_does_not_wait_for_the_index(tmp_path: Path) -> None:
    """A store that has just been opened has a snapshot: to take one needs the disk."""
    with failing_disk(tmp_path / "disk", tmp_path / "image", 160) as disk:
        store = open_store("disk", 64 << 20, disk / "store")
        with silent(disk), subprocess.Popen(["sh", "-c", RELEASE, disk]) as release:
            assert store.find(bytes(32)) is None
            assert release.poll() is None
            release.kill()
        store.close()


def settled(site: Site) -> None:
    """Wait until nothing of the store waits for the disk."""
    site.wait_for(lambda: site.status()["store"]["unwritten_bytes"] == 0, "still has something to write", 60)
