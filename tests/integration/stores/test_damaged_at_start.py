"""What lies in the store's directory at the start is not what was left there.

A foreign or truncated file: the store is set aside, an empty one begins, the status says so. Containers that are cut
off: they are missing, the others stay. Either way the site starts, and what is replicated is right.
"""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from proxy.observe import codes
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, alarm, drain, run

content = partial(volume, "content", 24 << 20)
SLOT = 4 << 20
DISK = {"mode": "disk", "size": "64MiB"}


def overwritten(path: Path) -> None:
    path.write_bytes(volume("foreign", 1 << 20))


def truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(40)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def removed(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [overwritten, truncated, emptied, removed])
def test_a_store_that_cannot_be_trusted(bed: Bed, damage: Callable[[Path], None]) -> None:
    """Of both sites at once, so that neither can make up for the other: the containers here, the index there."""
    with Array() as array:
        pair = bed.pair(array.address, store=DISK)
        run(*pair.sites)
        replicate(pair, content())
        drain(*pair.sites)
        damage(bed.directory / "east-store" / "containers")
        damage(bed.directory / "west-store" / "index" / "data.mdb")
        run(*pair.sites)
        for site in pair.sites:
            alarm(site, "could not be trusted")
            assert codes.STORE_SET_ASIDE.code in site.get("/api/v1/health")[1].decode()
            assert site.status()["store"]["chunks"] == 0
            assert len(list((bed.directory / f"{site.name}-store").glob("set-aside-*"))) == 1
        assert cost(pair, content()) > 0.95
        assert cost(pair, content()) < 0.006
        drain(*pair.sites)


def test_containers_that_are_cut_off(bed: Bed) -> None:
    """At the receiver: what was cut off is asked for, the rest is still there."""
    with Array() as array:
        pair = bed.pair(array.address, store=DISK)
        run(*pair.sites)
        replicate(pair, content())
        drain(*pair.sites)
        with (bed.directory / "west-store" / "containers").open("r+b") as file:
            file.truncate(5 * SLOT)
        run(*pair.sites)
        alarm(pair.west, "too short")
        assert 0 < pair.west.status()["store"]["chunks"] < pair.east.status()["store"]["chunks"]
        assert cost(pair, content()) < 0.6
        replicate(pair, content())
        drain(*pair.sites)


def test_a_directory_of_something_else(bed: Bed) -> None:
    """Nothing of it is touched."""
    foreign = bed.directory / "west-store"
    shutil.copytree(Path(__file__).parent, foreign, ignore=shutil.ignore_patterns("__pycache__"))
    before = {path: path.read_bytes() for path in foreign.iterdir()}
    with Array() as array:
        pair = bed.pair(array.address, store=DISK)
        run(*pair.sites)
        replicate(pair, content())
        drain(*pair.sites)
    assert {path: path.read_bytes() for path in before} == before
