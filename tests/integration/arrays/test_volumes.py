"""What sites say of volumes is what was done to them: qemu-img writes and reads through the pair, in known commands.

Both sites count by themselves. Needs root, tgt and qemu-img.
"""

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.array import IQN, IscsiTarget, identical
from bench.sites import Site
from tests.integration.bed.sites import Bed, Pair, eventually, look_up, run
from tests.patience import PATIENCE

pytestmark = [pytest.mark.root, pytest.mark.serial]

KiB, MiB = 1 << 10, 1 << 20
SIZE = 8 * MiB
COMMAND = 64 * KiB
COMMANDS = SIZE // COMMAND


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A volume without zeros, which would not be written."""
    if lacking := IscsiTarget.lacking():
        pytest.skip(lacking)
    path = tmp_path_factory.mktemp("volume") / "image"
    path.write_bytes(random.Random(5).randbytes(SIZE))
    return path


def test_volumes(bed: Bed, image: Path, site_directory: Path) -> None:
    with IscsiTarget(site_directory, [SIZE, SIZE]) as target:
        pair = bed.pair(target.address)
        run(*pair.sites)
        write(pair, image, 1)
        write(pair, image, 1)
        read(pair, target, 2, site_directory / "copy")
        assert identical(image, target.units[0])
        for site, share in ((pair.east, "forward array"), (pair.west, "export array")):
            eventually(site, "streams", [])
            first, second, others = site.status()["peers"][0]["volumes"]
            assert [(one["share"], one["target"], one["unit"]) for one in (first, second)] == [
                (share, IQN, "1"),
                (share, IQN, "2"),
            ]
            assert others["target"] == "others"
            assert sum(map(moved, (first, second, others))) == 3 * SIZE
            judge_writes(first)
            assert second["reads"]["bytes"] == SIZE
            assert second["writes"]["commands"] == 0
            judge_metrics(site, share)
        advice = look_up(pair.east.status(), "peers.0.advice")
        assert advice["write_size"] == {"figure": COMMAND, "zone": "likely to help", "colour": "red"}
        pair.east.wait_for(lambda: rate(pair.east) > 0, "has no rate of writes")
        assert rate(pair.east) <= round(2 * SIZE / 10)


def judge_writes(volume: dict[str, Any]) -> None:
    """Two passes in order, one command at a time, by connections that have ended."""
    writes = volume["writes"]
    assert (writes["commands"], writes["bytes"], writes["failed"]) == (2 * COMMANDS, 2 * SIZE, 0)
    assert (writes["sequential"], writes["random"]) == (2 * (COMMANDS - 1), 2)
    sizes = dict(zip(writes["sizes"]["bounds"], writes["sizes"]["counts"], strict=False))
    assert sizes[COMMAND] == 2 * COMMANDS
    assert sum(writes["seconds"]["counts"]) == 2 * COMMANDS
    assert 0 < writes["seconds"]["total"] < 60
    assert (volume["outstanding"], volume["outstanding_peak"], volume["connections"]) == (0, 1, 0)
    assert volume["dropped"] == 0


def judge_metrics(site: Site, share: str) -> None:
    _, body = site.get("/metrics")
    peer = "west" if site.name == "east" else "east"
    written = {"peer": peer, "share": share, "target": IQN, "unit": "1", "access": "write"}
    found = {
        sample.name: sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.labels in (written, written | {"le": "65536.0"})
    }
    for kind in ("bytes_count", "bytes_bucket", "seconds_count"):
        assert found[f"isthmus_volume_command_{kind}"] == 2 * COMMANDS
    assert found["isthmus_volume_command_bytes_sum"] == 2 * SIZE
    assert found["isthmus_volume_sequential_commands_total"] == 2 * (COMMANDS - 1)


def rate(site: Site) -> int:
    return int(look_up(site.status(), "peers.0.advice.write_rate.figure"))


def moved(volume: dict[str, Any]) -> int:
    return int(volume["reads"]["bytes"]) + int(volume["writes"]["bytes"])


def write(pair: Pair, image: Path, unit: int) -> None:
    """The whole volume in order, one command at a time."""
    where = {"driver": "iscsi", "transport": "tcp", "target": IQN, "lun": unit}
    where["portal"] = f"{pair.entrance[0]}:{pair.entrance[1]}"
    options = "".join(f",image.{key}={value}" for key, value in where.items())
    command = ["qemu-img", "convert", "-n", "-m", "1", "-f", "raw", "--target-image-opts", str(image)]
    qemu([*command, f"driver=blkdebug,max-transfer={COMMAND}{options}"])


def read(pair: Pair, target: IscsiTarget, unit: int, copy: Path) -> None:
    """All of the unit, whatever is in it."""
    qemu(["qemu-img", "dd", "-f", "raw", "-O", "raw", "bs=64k", f"if={target.url(unit, pair.entrance)}", f"of={copy}"])


def qemu(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
