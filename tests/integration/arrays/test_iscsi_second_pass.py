"""The second pass of a volume costs next to nothing, however differently the initiator sends it.

qemu-img writes a volume to one unit, then to another with other commands (smaller, and in another order) and with
header digests. What must cross is references and what is new in headers. Needs root, tgt and qemu-img.
"""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.array import IQN, IscsiTarget, identical
from bench.sites import Address
from tests.integration.bed.sites import Bed, Pair, drain, run, wire_bytes
from tests.patience import PATIENCE

pytestmark = [pytest.mark.root, pytest.mark.serial]

SIZE = 64 << 20
WARM = 0.01


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The volume: nothing in it compresses, so that only what is found again is cheap."""
    if lacking := IscsiTarget.lacking():
        pytest.skip(lacking)
    path = tmp_path_factory.mktemp("volume") / "image"
    path.write_bytes(random.Random(4).randbytes(SIZE))
    return path


@pytest.fixture
def target(site_directory: Path) -> Iterator[IscsiTarget]:
    with IscsiTarget(site_directory, [SIZE, SIZE], parameters={"HeaderDigest": "CRC32C,None"}) as target:
        yield target


def test_other_commands_another_order_and_digests(bed: Bed, image: Path, target: IscsiTarget) -> None:
    pair = bed.pair(target.address, store={"size": "256MiB"})
    run(*pair.sites)
    assert write(pair, image, target, 1, coroutines=1, most=1 << 20, digest="none") > 1
    assert write(pair, image, target, 2, coroutines=16, most=64 << 10, digest="crc32c") <= WARM
    counts = pair.east.status()["bytes"]
    assert counts["pdus"] > SIZE >> 16
    assert counts["digests_computed"] > 0
    assert counts["digests_wrong"] == 0
    assert pair.east.status()["peers"][0]["fallbacks"] == {}
    drain(*pair.sites)


def write(pair: Pair, image: Path, target: IscsiTarget, unit: int, *, coroutines: int, most: int, digest: str) -> float:
    """Have qemu-img write the volume in commands of so many bytes at most; the bytes on the wire for each of it."""
    before = wire_bytes(pair.east)
    command = ["qemu-img", "convert", "-n", "-W", "-m", str(coroutines), "-f", "raw", "--target-image-opts"]
    command += [str(image), options(pair.entrance, unit, most, digest)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert identical(image, target.units[unit - 1])
    return (wire_bytes(pair.east) - before) / SIZE


def options(address: Address, unit: int, most: int, digest: str) -> str:
    """A unit behind the address, as qemu's block layer is told of it."""
    where = {"portal": f"{address[0]}:{address[1]}", "target": IQN, "lun": unit, "header-digest": digest}
    image = "".join(f",image.{key}={value}" for key, value in {"driver": "iscsi", "transport": "tcp", **where}.items())
    return f"driver=blkdebug,max-transfer={most}{image}"
