"""West's store is wiped, restored from an old copy, or cloned while the site is down.

East knows it by identity and epochs, and does not believe what it believed before: literals go until trust is built
again, so nothing has to be asked for. Where it was only copied elsewhere, or opened, it is believed.

One that comes back as it was while it was open cannot be told from one whose site was killed: what it lacks is asked
for, and the bytes are right.
"""

import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dedupstore import open_store
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, Pair, drain, logged, run

old, new = (partial(volume, name, 16 << 20) for name in ("old", "new"))
COLD, WARM = 0.95, 0.006
DISK = {"mode": "disk", "size": "128MiB"}


def test_wiped(bed: Bed) -> None:
    with Array() as array:
        pair = started(bed, array)
        assert cost(pair, old()) > COLD
        with_west_down(pair, shutil.rmtree)
        assert cost(pair, old()) > COLD
        settled(pair)
        drain(*pair.sites)


def test_restored_from_an_old_copy(bed: Bed) -> None:
    """What came since the copy was taken is not there, and what east remembers is not what the copy says."""
    with Array() as array:
        pair = started(bed, array)
        cost(pair, old())
        with_west_down(pair, copy_away)
        cost(pair, new())
        with_west_down(pair, restore)
        logged(pair.east, "is not the one that we knew")
        assert cost(pair, old()) > COLD
        assert cost(pair, new()) > COLD
        settled(pair)
        assert cost(pair, new()) < WARM
        drain(*pair.sites)


def test_cloned(bed: Bed) -> None:
    """The copy is used for a while, then the original again, which knows nothing of it."""
    with Array() as array:
        pair = started(bed, array)
        cost(pair, old())
        with_west_down(pair, copy_away)
        cost(pair, new())
        with_west_down(pair, swap)
        assert cost(pair, old()) > COLD
        with_west_down(pair, swap)
        logged(pair.east, "is not the one that we knew")
        assert cost(pair, old()) > COLD
        settled(pair)
        drain(*pair.sites)


def test_back_to_a_snapshot_of_the_running_site(bed: Bed) -> None:
    with Array() as array:
        pair = started(bed, array)
        cost(pair, old())
        pair.west.signal(signal.SIGSTOP)
        copy_away(bed.directory / "west-store")
        pair.west.signal(signal.SIGCONT)
        cost(pair, new())
        pair.west.kill()
        with_west_down(pair, restore)
        for content in (new(), old(), new()):
            replicate(pair, content)
        misses = pair.west.status()["bytes"]["misses"]
        assert 0 < misses == pair.east.status()["bytes"]["fills"]
        assert "is not the one that we knew" not in pair.east.log.read_text()
        drain(*pair.sites)


def test_copied_and_left_alone(bed: Bed) -> None:
    """A move to another disk, for example: the same store goes on, and is believed."""
    with Array() as array:
        pair = started(bed, array)
        cost(pair, old())
        with_west_down(pair, move)
        settled(pair)
        drain(*pair.sites)


def test_opened_again_and_again(bed: Bed) -> None:
    """No peer hears of these openings, so they do not drive out the epoch that east knows."""
    with Array() as array:
        pair = started(bed, array)
        assert cost(pair, old()) > COLD
        settled(pair)
        with_west_down(pair, open_often)
        settled(pair)
        drain(*pair.sites)


def started(bed: Bed, array: Array) -> Pair:
    pair = bed.pair(array.address, store=DISK)
    run(*pair.sites)
    return pair


def with_west_down(pair: Pair, work: Callable[[Path], None]) -> None:
    """Stop west, do something to its store, and start it; east stays up."""
    if pair.west.running:
        drain(pair.west)
    work(pair.west.config.parent / "west-store")
    pair.west.start()
    pair.west.wait_ready()
    for site in pair.sites:
        site.wait_up()


def settled(pair: Pair) -> None:
    """Warm, and nothing was ever missed."""
    assert cost(pair, old()) < WARM
    assert pair.west.status()["bytes"]["misses"] == 0


def copy_away(store: Path) -> None:
    shutil.copytree(store, store.with_name("copy"))


def restore(store: Path) -> None:
    shutil.rmtree(store)
    store.with_name("copy").rename(store)


def move(store: Path) -> None:
    copy_away(store)
    restore(store)


def open_often(store: Path) -> None:
    for _ in range(20):
        open_store("disk", 128 << 20, store).close()


def swap(store: Path) -> None:
    store.rename(store.with_name("third"))
    store.with_name("copy").rename(store)
    store.with_name("third").rename(store.with_name("copy"))
