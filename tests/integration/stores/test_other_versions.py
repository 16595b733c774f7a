"""Upgrade and downgrade over an old store: what another version has left is set aside, and said; replication is right.

There has been one version so far, so the two neighbours are made from it: the superblock says another number, with a
hash that fits, as a real store of that version would.
"""

import struct
from functools import partial
from pathlib import Path

import pytest
from blake3 import blake3

from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, alarm, drain, run

content = partial(volume, "content", 8 << 20)
DISK = {"mode": "disk", "size": "64MiB"}


@pytest.mark.parametrize("version", [pytest.param(0, id="upgrade"), pytest.param(2, id="downgrade")])
def test_a_store_of_another_version(bed: Bed, version: int) -> None:
    with Array() as array:
        pair = bed.pair(array.address, store=DISK)
        run(*pair.sites)
        replicate(pair, content())
        drain(*pair.sites)
        for site in pair.sites:
            renumber(bed.directory / f"{site.name}-store" / "containers", version)
        run(*pair.sites)
        for site in pair.sites:
            alarm(site, f"is of version {version}, this software knows 1")
            assert len(list((bed.directory / f"{site.name}-store").glob("set-aside-*"))) == 1
        assert cost(pair, content()) > 0.95  # the old store is not believed, on either side
        assert cost(pair, content()) < 0.01
        drain(*pair.sites)


def renumber(containers: Path, version: int) -> None:
    """Have the superblock (FORMAT.md) say another version."""
    with containers.open("r+b") as file:
        head = bytearray(file.read(32))
        struct.pack_into("<I", head, 8, version)
        file.seek(0)
        file.write(head + blake3(head).digest())
