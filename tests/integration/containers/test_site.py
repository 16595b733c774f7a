"""deploy/site as it is written, once beside each array: what one array sends arrives, and SIGTERM drains."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.datasets import Dataset
from bench.replicator import Sink, replicate
from bench.sites import Address, Site, free_port, keygen
from tests.integration.containers.engine import ROOT, EngineFailure, Project, docker, wait_for

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(1500)]

FILE = ROOT / "deploy" / "site" / "compose.yaml"
USER = 10001
SIZE = 8 << 20


class Beside:
    """A site in a container, on this host's network, and its files."""

    def __init__(self, name: str, directory: Path, image: str) -> None:
        self.site = Site(name, directory, free_port())
        self._directory = directory
        self._image = image
        self.project: Project | None = None

    def start(self, text: str) -> None:
        """Write the site's file, and bring a copy of the compose file up beside it."""
        common = (
            f'[site]\nname = "{self.site.name}"\n'
            f'[identity]\ncertificate = "{self.site.name}.crt"\nkey = "{self.site.name}.key"\n'
            f'[store]\nmode = "disk"\npath = "state/store"\nsize = "64MiB"\n'
            f'[status]\nlisten = "127.0.0.1:{self.site.status_port}"\n'
        )
        self.site.config.write_text(common + text)
        (self._directory / "compose.yaml").write_bytes(FILE.read_bytes())
        values = {"ISTHMUS_IMAGE": self._image, "ISTHMUS_SITE": self.site.name, "ISTHMUS_USER": f"{USER}:{USER}"}
        (self._directory / ".env").write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        (self._directory / "state").mkdir()
        for path in (self._directory, *self._directory.iterdir()):
            os.chown(path, USER, USER)
        name = f"isthmus{self.site.name}{os.getpid()}"
        self.project = Project(name, self._directory / "compose.yaml", values)
        self.project.compose("up", "--detach")

    def up(self) -> bool:
        """Whether its tunnel is."""
        try:
            return all(peer["state"] == "up" for peer in self.site.status()["peers"])
        except OSError:
            return False

    def writes_only_its_state(self) -> None:
        """Its store and its history are there, and nothing else beside its file can be changed."""
        assert self.project is not None
        assert {path.name for path in (self._directory / "state").iterdir()} >= {
            "store",
            f"{self.site.name}-history.db",
        }
        self.project.execute("isthmus", "touch", "state/new")
        for name in ("compose.yaml", ".env", self.site.config.name, f"{self.site.name}.key", "new"):
            with pytest.raises(EngineFailure, match="Read-only file system"):
                self.project.execute("isthmus", "touch", name)

    def down(self) -> None:
        if self.project is not None:
            self.project.down()


@pytest.fixture
def sites(tmp_path: Path, image: str) -> Iterator[tuple[Beside, Beside]]:
    made = []
    for name in ("east", "west"):
        directory = tmp_path / name
        directory.mkdir()
        keygen(name, directory)
        made.append(Beside(name, directory, image))
    for one, other in (("east", "west"), ("west", "east")):
        (tmp_path / one / f"{other}.crt").write_bytes((tmp_path / other / f"{other}.crt").read_bytes())
    try:
        yield made[0], made[1]
    finally:
        for each in made:
            each.down()


def test_a_pair_of_compose_files_replicates(sites: tuple[Beside, Beside]) -> None:
    east, west = sites
    with Sink() as array:
        entrance = start(east, west, array.address)
        done = replicate(Dataset("f5vol2", SIZE, 38, 10), entrance)
    assert done.verified, done.complaint
    assert done.bytes == SIZE
    for each in sites:
        project = each.project
        assert project is not None
        project.wait_healthy("isthmus")
        each.writes_only_its_state()
        container = project.container("isthmus")
        docker("stop", "--time", "60", container)
        assert docker("inspect", "--format", "{{.State.ExitCode}}", container).strip() == "0"


def test_a_stop_right_after_the_start_is_heard(sites: tuple[Beside, Beside]) -> None:
    """Before the site heeds SIGTERM it holds nothing, and may end at once."""
    start(*sites, ("127.0.0.1", free_port()))
    for each in sites:
        assert each.project is not None
        container = each.project.container("isthmus")
        docker("stop", container)
        docker("start", container)
        docker("stop", container)
        # 137: killed
        assert docker("inspect", "--format", "{{.State.ExitCode}}", container).strip() in ("0", "143")


def start(east: Beside, west: Beside, array: Address) -> Address:
    """Where east's forward listens; both tunnels are up."""
    tunnel, entrance = f"127.0.0.1:{free_port()}", ("127.0.0.1", free_port())
    west.start(
        f'[tunnel]\nlisten = "{tunnel}"\n[[peer]]\nname = "east"\ncertificate = "east.crt"\n'
        f'[[export]]\nname = "array"\naddress = "{array[0]}:{array[1]}"\npeers = ["east"]\n'
    )
    east.start(
        f'[[peer]]\nname = "west"\naddress = "{tunnel}"\ncertificate = "west.crt"\n'
        f'[[forward]]\nname = "array"\nlisten = "{entrance[0]}:{entrance[1]}"\npeer = "west"\nexport = "array"\n'
    )
    wait_for(lambda: east.up() and west.up(), "the tunnel is not up")
    return entrance
