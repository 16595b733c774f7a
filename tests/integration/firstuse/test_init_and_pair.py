"""Two hosts from nothing: `isthmus init` on each, one line each way, and an array replicates through them."""

import subprocess
from functools import partial
from pathlib import Path

from bench.sites import environment, free_port, isthmus
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.forked import ForkedSite
from tests.integration.bed.sites import Bed, drain, run

content = partial(volume, "first use", 4 << 20)


def typed(directory: Path, *words: str) -> str:
    """What a command says that is typed on the host whose directory that is."""
    directory.mkdir(exist_ok=True)
    done = subprocess.run(
        isthmus(*words), cwd=directory, env=environment(), capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def line(shown: str) -> list[str]:
    """The words after `isthmus` of the one line that is to be typed on the other host."""
    (found,) = [text for text in shown.splitlines() if text.startswith("isthmus pair ")]
    return found.split()[1:]


def test_two_hosts_from_nothing(bed: Bed) -> None:
    hosts = {name: bed.directory / name for name in ("east", "west")}
    sites = {name: ForkedSite(name, directory, free_port()) for name, directory in hosts.items()}
    bed.sites += sites.values()
    entrance = "127.0.0.1", free_port()
    with Array() as array:
        ways = {
            "east": ("--peer", "west", "--forward", f"127.0.0.1:{entrance[1]}"),
            "west": ("--peer", "east", "--export", f"127.0.0.1:{array.address[1]}"),
        }
        shown = {}
        for name, way in ways.items():
            own = "--listen", f"127.0.0.1:{free_port()}", "--status", f"127.0.0.1:{sites[name].status_port}"
            shown[name] = typed(hosts[name], "init", "--site", name, *way, *own, "--store-size", "64MiB")
        typed(hosts["west"], *line(shown["east"]))
        typed(hosts["east"], *line(shown["west"]))
        run(*sites.values())
        sending = send(cut(content(), 1 << 17), entrance)
        whole(receipt(content()), sending)
        drain(*sites.values())
