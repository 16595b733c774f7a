"""The stores' disk is too small for their configured size, or fails: traffic passes, with an alarm, and never fails."""

from pathlib import Path
from resource import RLIMIT_FSIZE

import psutil
import pytest

from bench.sites import Site
from tests.integration.bed.answering import answering
from tests.integration.bed.contents import volume
from tests.integration.bed.disks import break_disk, failing_disk, small_disk
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, alarm, drain, run


@pytest.fixture(scope="module")
def contents() -> list[bytes]:
    return [volume(f"volume {number}", 16 << 20) for number in range(4)]


@pytest.mark.root
def test_a_disk_of_24_megabytes(bed: Bed, tmp_path: Path, contents: list[bytes]) -> None:
    """Each store shall have 64 MiB and gets 24 MB. What fits is used, and what was used is right."""
    with small_disk(tmp_path / "a", 24) as a, small_disk(tmp_path / "b", 24) as b, Array() as array:
        stores = disk_store(a), disk_store(b)
        pair = bed.pair(array.address, stores=stores)
        run(*pair.sites)
        with answering(*pair.sites):
            for content in (*contents, *contents):
                replicate(pair, content)
        for site in pair.sites:
            alarm(site, "room")
        replicate(pair, contents[0][: 4 << 20])
        assert cost(pair, contents[0][: 4 << 20]) < 0.1
        drain(*pair.sites)
        run(*pair.sites)
        replicate(pair, contents[-1])
        drain(*pair.sites)


@pytest.mark.root
@pytest.mark.parametrize("where", ["east", "west"])
def test_a_disk_that_becomes_read_only(bed: Bed, tmp_path: Path, where: str, contents: list[bytes]) -> None:
    """While it is in use. What is stored may still be read; what is new passes, and crosses the wire each time."""
    with failing_disk(tmp_path / "disk", tmp_path / "image", 160) as disk, Array() as array:
        sound, failing = {"mode": "disk", "size": "64MiB"}, disk_store(disk)
        pair = bed.pair(array.address, stores=(failing, sound) if where == "east" else (sound, failing))
        run(*pair.sites)
        replicate(pair, contents[0])
        break_disk(disk)
        with answering(*pair.sites):
            for content in (*contents, *contents):
                replicate(pair, content)
        site = getattr(pair, where)
        alarm(site, "Read-only file system")
        assert site.get("/healthz")[0] == 200
        drain(*pair.sites)


@pytest.mark.parametrize("where", ["east", "west"])
def test_a_disk_with_errors(bed: Bed, where: str, contents: list[bytes]) -> None:
    """Every write beyond the first MiB of a file fails."""
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "64MiB"})
        run(*pair.sites)
        site = getattr(pair, where)
        replicate(pair, contents[0])  # so the file is longer than that
        forbid_growth(site)
        with answering(*pair.sites):
            for content in (*contents, *contents):
                replicate(pair, content)
        alarm(site, "File too large")
        drain(*pair.sites)


def disk_store(disk: Path) -> dict[str, str]:
    return {"mode": "disk", "size": "64MiB", "path": str(disk / "store")}


def forbid_growth(site: Site) -> None:
    """Have writes fail by a limit of the process: an I/O error without a broken disk."""
    psutil.Process(site.pid).rlimit(RLIMIT_FSIZE, (1 << 20, 1 << 20))
