"""One store, one process: a second one refuses to start, with exit code 5 and the name of who holds it."""

import subprocess
from functools import partial

from bench.sites import environment, free_port, isthmus
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import replicate
from tests.integration.bed.sites import Bed, drain, run
from tests.patience import PATIENCE

content = partial(volume, "content", 8 << 20)
STORE_EXIT = 5


def test_a_second_process_is_refused(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "64MiB"})
        run(*pair.sites)
        second = bed.site("east-again", {"west": None}, tunnel={"listen": "127.0.0.1:0"})
        text = pair.east.config.read_text()
        for taken, free in ((pair.east.status_port, second.status_port), (pair.entrance[1], free_port())):
            text = text.replace(f":{taken}", f":{free}")
        second.config.write_text(text)
        for command in (["serve"], ["store", "verify"], ["store", "purge", "--yes"]):
            refused = isthmus_says(*command, str(second.config))
            assert refused.returncode == STORE_EXIT
            assert f"process {pair.east.pid}" in refused.stderr
            assert "Traceback" not in refused.stderr
        replicate(pair, content())
        drain(*pair.sites)
        verified = isthmus_says("store", "verify", str(pair.east.config))
        assert (verified.returncode, verified.stderr) == (0, "")


def test_the_lock_of_a_killed_process_is_no_hindrance(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "64MiB"})
        run(*pair.sites)
        for site in pair.sites:
            site.kill()
        run(*pair.sites)
        replicate(pair, content())
        drain(*pair.sites)


def isthmus_says(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        isthmus(*arguments), env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
