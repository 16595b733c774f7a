"""Started with a standard stream closed, as some supervisors and scripts do: everything goes on as with /dev/null."""

import http.client
import shlex
import subprocess
from collections.abc import Sequence

import pytest

from bench.ending import bound
from bench.sites import Site, environment, free_port, isthmus
from tests.integration.bed.sites import Bed
from tests.patience import PATIENCE, until

CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]


def without(streams: str, command: Sequence[str]) -> list[str]:
    """A shell that becomes that command, with those streams closed."""
    return ["sh", "-c", f"exec {shlex.join(command)} {streams}"]


@pytest.mark.parametrize("streams", CLOSED)
def test_a_site_drains_as_ever(bed: Bed, streams: str) -> None:
    site = bed.site("west", {"east": None}, tunnel={"listen": f"127.0.0.1:{free_port()}"})
    command = bound(without(streams, isthmus("serve", str(site.config))))
    with site.log.open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log, env=environment()) as process:
        try:
            until(lambda: process.poll() is not None or ready(site), "it is not ready")
            process.terminate()
            assert process.wait(PATIENCE) == 0, site.tail()
        finally:
            process.kill()


def ready(site: Site) -> bool:
    try:
        return site.get("/healthz")[0] == http.client.OK
    except OSError:
        return False


@pytest.mark.parametrize("streams", CLOSED)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("keygen", "--site", "north", "--out", "keys"), 0),
        (("analyze", "data"), 0),
        (("init", "--out", "made"), 2),
        (("store", "purge", "west.toml"), 2),
    ],
)
def test_a_command_ends_as_ever(bed: Bed, streams: str, words: Sequence[str], code: int) -> None:
    bed.site("west", {"east": None}, tunnel={"listen": "127.0.0.1:4500"}, store={"mode": "disk"})
    for name in ("west-store/containers", "west-store/index"):
        (bed.directory / name).mkdir(parents=True)
    (bed.directory / "data").write_bytes(bytes(1 << 20))
    done = subprocess.run(
        without(streams, isthmus(*words)),
        cwd=bed.directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "defect" not in done.stderr
