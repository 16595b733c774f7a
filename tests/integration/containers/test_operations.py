"""The boxes of OPERATIONS.md about containers are typed as they stand, from an empty directory to the end.

Both sites are on this host and beside each other on loopback. Data goes through after each box that changes something,
and after a kill.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.datasets import Dataset
from bench.replicator import Sink, replicate
from bench.sites import free_port
from proxy import __version__
from tests.integration.containers.engine import PATIENCE_SECONDS, ROOT, compose_command, docker, wait_for

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(1500)]

TEXT = (ROOT / "deploy" / "OPERATIONS.md").read_text()
SIZE = 4 << 20
HUP = "docker compose exec isthmus sh -c 'kill -HUP 1'"
"""What the table has for `systemctl reload` where the control token was replaced."""


@dataclass
class Host:
    """Where one site's boxes are typed: this host, with a directory and addresses of the test's own."""

    name: str
    directory: Path
    image: str
    words: dict[str, str]
    """What takes the place of what, such as free ports of loopback of the example's addresses."""

    def box(self, part: str) -> str:
        """Type the lines of that box and return what they print."""
        return self.type(box(part))

    def start(self) -> str:
        """The box with the first start; the site answers before the rest is typed, and `doctor` may find problems."""
        first, *rest = box("start").splitlines()
        self.type(first)
        wait_for(lambda: bool(self.status()), "the site does not answer")
        return self.type("\n".join(re.sub("( doctor .*)", r"\1 || [ $? = 1 ]", line) for line in rest))

    def type(self, text: str) -> str:
        """Where no terminal is needed, and nothing waits for one."""
        here = {
            "docker compose": " ".join(compose_command()),
            "exec isthmus": "exec -T isthmus",
            "run --rm isthmus ": "run --rm -T isthmus ",
            "logs -f": "logs",
            " --watch": "",
            "/srv/isthmus": str(self.directory),
            f"isthmus:{__version__}": self.image,
        }
        for word, instead in {**self.words, **here}.items():
            text = text.replace(word, instead)
        place = self.directory if self.directory.exists() else self.directory.parent
        done = subprocess.run(
            ["bash", "-ec", text], cwd=place, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
        )
        assert done.returncode == 0, f"{text}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def make(self) -> str:
        """The site's files, and what the other site's operator has to type."""
        (line,) = re.findall(r"^isthmus pair (\S+)", self.box("make"), re.MULTILINE)
        values = self.directory / ".env"
        values.write_text(values.read_text().replace(f"isthmus:{__version__}", self.image))
        return str(line)

    def status(self) -> str:
        """Empty if the site does not answer."""
        return self.type(f"docker compose exec isthmus isthmus status /etc/isthmus/{self.name}.toml --json || true")

    def up(self) -> bool:
        """Whether the tunnel is."""
        return '"state": "up"' in self.status()

    def container(self) -> str:
        return self.type("docker compose ps -q isthmus").strip()

    def inspect(self, what: str) -> str:
        return docker("inspect", "--format", what, self.container()).strip()


def box(part: str) -> str:
    """The lines of that box."""
    (text,) = re.findall(rf"^```sh container {part}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.fixture
def hosts(tmp_path: Path, image: str) -> Iterator[tuple[Host, Host, Sink]]:
    newer, tunnel = f"{image}-newer", f"127.0.0.1:{free_port()}"
    docker("tag", image, newer)
    with Sink() as array:
        own = "--site east --peer west=198.18.0.2:4500 --forward 10.0.0.1:3260"
        at_west = f"--site west --peer east --listen {tunnel} --export {':'.join(map(str, array.address))}"
        status = {name: f" --status 127.0.0.1:{free_port()}" for name in ("east", "west")}
        at_east = own.replace("198.18.0.2:4500", tunnel).replace("10.0.0.1:3260", f"127.0.0.1:{free_port()}")
        words = {"NEW-IMAGE": newer}
        directory = tmp_path / f"isthmuseast{os.getpid()}"
        east = Host("east", directory, image, {**words, own: at_east + status["east"]})
        other = {**words, own: at_west + status["west"], "east.toml": "west.toml"}
        west = Host("west", directory.with_name(f"isthmuswest{os.getpid()}"), image, other)
        try:
            yield east, west, array
        finally:
            for each in (east, west):
                if each.directory.exists():
                    each.box("back")
            docker("rmi", newer)


def test_what_is_written_about_containers(hosts: tuple[Host, Host, Sink]) -> None:
    east, west, array = hosts
    lines = {"east": east.make(), "west": west.make()}
    for host, other in ((east, "west"), (west, "east")):
        host.words["LINE"] = lines[other]
        assert f"{other} is a peer now" in host.box("pair")
        assert re.search(r"ok\s+status listener .* by the running site", host.start())
        assert (host.directory / "state" / "bundle.tar.gz").exists()
    replicated(east, array)

    before = east.inspect("{{.State.StartedAt}}")
    file = east.directory / "east.toml"
    file.write_text(file.read_text().replace("[[forward]]\n", '[[forward]]\npriority = "high"\n'))
    assert "It has taken over from /etc/isthmus/east.toml: forward array." in east.box("change")
    assert east.inspect("{{.State.StartedAt}}") == before
    east.box("restart")
    assert east.inspect("{{.State.StartedAt}}") != before
    replicated(east, array)
    assert "is empty" in east.box("store")
    replicated(east, array)
    west.box("upgrade")
    assert west.inspect("{{.Config.Image}}").endswith("-newer")
    replicated(east, array)

    assert HUP in TEXT
    east.type(HUP)
    wait_for(lambda: "have been read anew" in east.type("docker compose logs"), "SIGHUP is not heeded")
    kill(east)
    replicated(east, array)
    assert "IST-410" in east.type("docker compose exec isthmus isthmus events /etc/isthmus/east.toml")

    east.box("backup")
    east.type("docker compose down")
    shutil.rmtree(east.directory)
    east.box("restore")
    replicated(east, array)
    east.box("back")
    assert not east.container()


def kill(host: Host) -> None:
    """Kill the site itself, as the kernel does for want of memory; the engine starts it again."""
    first = host.inspect("{{.State.Pid}}")
    (site,) = Path("/proc", first, "task", first, "children").read_text().split()
    os.kill(int(site), 9)
    wait_for(lambda: host.inspect("{{.RestartCount}} {{.State.Status}}") == "1 running", "it is not started again")


def replicated(east: Host, array: Sink) -> None:
    """Data goes through, once the tunnel is up."""
    wait_for(east.up, "the tunnel is not up")
    (entrance,) = re.findall(r'^listen = "127\.0\.0\.1:(\d+)"$', (east.directory / "east.toml").read_text(), re.M)[1:]
    before = array.received
    done = replicate(Dataset("operations", SIZE, 38, 10), ("127.0.0.1", int(entrance)))
    assert done.verified, done.complaint
    assert array.received - before == SIZE
