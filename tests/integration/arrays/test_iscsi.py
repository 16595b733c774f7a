"""Real parts: qemu-img replicates a file system that this project did not make into tgt, through the pair.

The volume is an ext4 image of a directory of this machine's. What arrives is compared twice: the target's backing file
byte for byte, and by reading it back through the pair. Needs root, tgt, qemu-img and mke2fs.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.array import ArrayFailure, IscsiTarget, copy_volume, identical
from bench.sites import Site
from tests.integration.bed.ends import WrongBytes
from tests.integration.bed.sites import Bed, Pair, drain, run, wire_bytes
from tests.patience import PATIENCE

pytestmark = [pytest.mark.root, pytest.mark.serial]

SIZE = 128 << 20
SOURCES = ("/usr/share/doc", "/usr/lib/python3", "/usr/share/perl", "/usr/lib/git-core", "/etc")
"""Directories that a machine may have; the first that has something and fits is used."""
WARM = 0.02
DIFFERENT = 1
"""What `qemu-img compare` ends with where volumes differ; other failures are greater."""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The volume."""
    if lacking := IscsiTarget.lacking() or ("" if shutil.which("mke2fs") else "not installed: mke2fs"):
        pytest.skip(lacking)
    path = tmp_path_factory.mktemp("volume") / "image"
    for source in SOURCES:
        path.unlink(missing_ok=True)
        make = ["mke2fs", "-q", "-t", "ext4", "-m", "0", "-d", source, str(path), f"{SIZE >> 20}M"]
        if Path(source).is_dir() and not subprocess.run(make, capture_output=True, check=False).returncode:
            return path
    pytest.skip("no directory here fits into the volume")


@pytest.fixture
def target(site_directory: Path) -> Iterator[IscsiTarget]:
    """Two units, each as large as the volume."""
    with IscsiTarget(site_directory, [SIZE, SIZE]) as target:
        yield target


@pytest.mark.parametrize("mode", ["memory", "disk"])
def test_cold_and_warm(bed: Bed, image: Path, target: IscsiTarget, mode: str) -> None:
    """To one unit, then to the other: so the second pass is judged by bytes of its own."""
    pair = bed.pair(target.address, store={"mode": mode, "size": "256MiB"})
    run(*pair.sites)
    cold = replicate(pair, image, target, 1)
    assert replicate(pair, image, target, 2) < min(WARM, cold / 2)
    drain(*pair.sites)


@pytest.mark.parametrize("victim", ["east", "west"])
def test_a_proxy_is_killed_meanwhile(bed: Bed, image: Path, target: IscsiTarget, victim: str) -> None:
    """qemu-img may give up, or reconnect and finish by itself. Once it says that it is done, the volumes are equal."""
    pair = bed.pair(target.address, store={"mode": "disk", "size": "256MiB"})
    run(*pair.sites)
    strike = Strike(getattr(pair, victim))
    try:
        copy_volume(image, target.url(1, pair.entrance), strike)
    except ArrayFailure:
        for site in pair.sites:
            site.wait_up()
        copy_volume(image, target.url(1, pair.entrance))
    assert strike.done
    assert identical(image, target.units[0])
    for site in pair.sites:
        site.wait_up()
    replicate(pair, image, target, 2)
    drain(*pair.sites)


def test_a_wrong_name_is_refused_by_the_target(bed: Bed, image: Path, target: IscsiTarget) -> None:
    """The same words and the same exit status as without the pair."""
    pair = bed.pair(target.address)
    run(*pair.sites)
    direct, through = (
        subprocess.run(
            ["qemu-img", "info", url.replace(":isthmus", ":nobody")],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        for url in (target.url(1), target.url(1, pair.entrance))
    )
    assert direct.returncode
    assert through.returncode == direct.returncode
    assert through.stderr.replace(f":{pair.entrance[1]}", "") == direct.stderr.replace(f":{target.address[1]}", "")
    drain(*pair.sites)


class Strike:
    """Kills and restarts a site when half of the volume has gone."""

    def __init__(self, victim: Site) -> None:
        self.done = False
        self._victim = victim

    def __call__(self, percent: float) -> None:
        if percent > 40 and not self.done:
            self.done = True
            self._victim.kill()
            self._victim.start()


def replicate(pair: Pair, image: Path, target: IscsiTarget, unit: int) -> float:
    """Copy, compare both ways; the bytes on the wire for each of the volume."""
    before = wire_bytes(pair.east)
    copy_volume(image, target.url(unit, pair.entrance))
    cost = (wire_bytes(pair.east) - before) / SIZE
    assert identical(image, target.units[unit - 1])
    compared = subprocess.run(
        ["qemu-img", "compare", "-f", "raw", "-F", "raw", str(image), target.url(unit, pair.entrance)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if compared.returncode == DIFFERENT:
        raise WrongBytes(compared.stdout)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    return cost
