"""The disk under the history stands still (I5): the site answers, carries data, forgets nothing, and ends in order."""

import time
from pathlib import Path

import pytest

from tests.integration.bed.contents import cut, volume
from tests.integration.bed.disks import failing_disk, silent
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed
from tests.integration.web.stage import ask, raw, wait_written
from tests.patience import PATIENCE

SIZE = 2 << 20
LONGER_THAN_A_FLUSH = 12.0


@pytest.mark.patient
@pytest.mark.root
def test_the_page_outlives_its_disk(bed: Bed, tmp_path: Path) -> None:
    with failing_disk(tmp_path / "disk", tmp_path / "image", 32) as disk, Array() as array:
        pair = bed.pair(array.address)
        east = pair.east
        text = east.config.read_text()
        east.config.write_text(text.replace("[status]\n", f'[status]\nhistory = "{disk / "history.db"}"\n'))
        with pair.running():
            assert ask(east, "history")["kept"] == "disk"
            with silent(disk):
                began, number = time.monotonic(), 0
                while time.monotonic() - began < LONGER_THAN_A_FLUSH:
                    content = volume(f"silent {number}", SIZE)
                    whole(receipt(content), send(cut(content, 1 << 17), pair.entrance))
                    number += 1
                    assert east.get("/healthz")[0] == 200
                    time.sleep(0.5)
                east.wait_for(
                    lambda: raw(pair.east) == number * SIZE, "does not count while its disk is silent", PATIENCE
                )
            wait_written(east, disk / "history.db", number * SIZE, 1)
        east.start()
        east.wait_ready()
        assert raw(east) == number * SIZE
        east.stop()
