"""The site itself limits: its CPU, or its disk."""

from pathlib import Path

import pytest

from tests.integration.bed.ends import Array
from tests.integration.bed.sites import Bed, look_up
from tests.integration.bed.verdicts import discard, limited_by, pouring

SLOW_DISK = """
import os, time
write = os.pwrite
def pwrite(file, data, offset):
    time.sleep(len(data) / 8e6)
    return write(file, data, offset)
os.pwrite = pwrite
"""
"""What Python runs before anything else of a site: a disk that takes 8 MB/s."""


def test_the_cpu(bed: Bed) -> None:
    """Source and far array are as fast as they get, and so is the line."""
    with Array(discard) as array, bed.pair(array.address).running() as pair, pouring(pair.entrance):
        stream = limited_by(pair.east, "cpu", words="this process works ")
        assert stream["waiting_seconds"]["cpu"] > 0


@pytest.mark.typed("east", "west")
def test_the_disk(bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "sitecustomize.py").write_text(SLOW_DISK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "early"), prepend=":")
    store = {"mode": "disk", "size": "256MiB", "cache": "32MiB"}
    with Array(discard) as array, bed.pair(array.address, store=store).running() as pair, pouring(pair.entrance):
        stream = limited_by(pair.east, "store", words="the store's disk took ")
        assert stream["waiting_seconds"]["store"] > 0
        assert look_up(pair.east.status(), "store.unwritten_bytes") > 0
