"""A stranger pairs two hosts with OPERATIONS.md alone: its boxes are typed, one after another, as they stand.

Two hosts at the ends of a line, each with its own network, processes and files (`host`). What is installed is the wheel
of this checkout and the pinned packages. Data goes through after the start, after the rotation of a certificate, after
an upgrade and after changes of a file. Sites and `doctor` run as the user that the boxes make.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from bench.wan import Wan
from bench.wan.namespaces import run as command
from proxy import __version__
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect, receipt, send, whole
from tests.integration.bed.lines import line_or_skip
from tests.integration.bed.sites import look_up
from tests.integration.containers.engine import UNREACHABLE
from tests.integration.hosts.host import Host, host
from tests.patience import until

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "deploy" / "OPERATIONS.md").read_text()
PORTAL, FORWARD = ("10.1.0.5", 3260), ("10.0.0.1", 3260)
content = partial(volume, "operations", 4 << 20)
TOOLS = ("nsenter", "unshare", "useradd", "setsid", "setpriv", "runuser", "sysctl", "nft", "openssl")


@dataclass(frozen=True)
class Box:
    """Lines to be typed: on which host, and in which part."""

    hosts: tuple[str, ...]
    part: str
    text: str


def boxes(*parts: str) -> list[Box]:
    """Those of these parts, in their order."""
    found = re.findall(r"^```sh (both|east|west) ?(\w*)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    every = [Box(("west", "east") if where == "both" else (where,), part, text) for where, part, text in found]
    return [box for box in every if box.part in parts]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[Wan, dict[str, Host]]]:
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    files, shared = tmp_path / "files", tmp_path / "opt"
    shared.mkdir()
    carried(files)
    with line_or_skip(rate="100Mbit", delay="2ms") as wan:
        for name, address in (("west", PORTAL[0]), ("east", FORWARD[0])):
            command([*wan.command(name), "ip", "address", "add", f"{address}/32", "dev", "lo"])
        with host(wan, "east", shared, files) as east, host(wan, "west", shared, files) as west:
            yield wan, {"east": east, "west": west}


def carried(files: Path) -> None:
    """What an operator copies to both hosts."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(files), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copy(ROOT / "requirements" / "site.txt", files)


def test_two_hosts_are_paired_by_what_is_written(hosts: tuple[Wan, dict[str, Host]]) -> None:
    wan, host_of = hosts
    lines: dict[str, str] = {}
    with wan.inside("west"):
        array = Array(address=PORTAL)
    with array:
        for box in boxes("install"):
            install(host_of["west"], box.text)
            host_of["east"].type(without_packages(box.text))
        type_all(boxes(""), host_of, lines)
        wait_up(host_of)
        replicated(wan)
        for box in boxes("after"):
            said = host_of["east"].type(box.text, status=(0, 1))  # doctor: 1 if this machine has a problem
            assert re.search(r"ok\s+peer west", said)
            assert re.search(r"ok\s+tunnel to west\s+up", said)
            assert re.search(r"ok\s+history\s+kept in /var/lib/isthmus/east/history.db", said)
            assert re.search(r"ok\s+store\s+/var/lib/isthmus/east/store", said)
            assert not re.search(r"attention\s+user", said)
            assert "IST-" in host_of["east"].type("isthmus events /etc/isthmus/east.toml")
        before = fingerprint(host_of["west"])
        type_all(boxes("rotate"), host_of, lines)
        until(lambda: fingerprint(host_of["west"]) != before, "the new certificate is not in use")
        wait_up(host_of)
        replicated(wan)
        host_of["east"].type("sed -i '/^\\[\\[forward\\]\\]$/a priority = \"high\"' /etc/isthmus/east.toml")
        type_all(boxes("reload"), host_of, lines)
        until(lambda: priority(host_of["east"]) == "high", "the forward's new key is not in use")
        for box in boxes("upgrade"):
            install(host_of["west"], box.text)
        type_all(boxes("tokens"), host_of, lines)
        secure(host_of["east"])
        type_all(boxes("change"), host_of, lines)
        wait_up(host_of)
        replicated(wan)
        type_all(boxes("back"), host_of, lines)
        with wan.inside("east"), pytest.raises(ConnectionRefusedError):
            connect(FORWARD)
    assert len(array.arrivals) == 3


def install(at: Host, text: str) -> None:
    """With packages from wherever pip has them from. Skips the test if they are out of reach."""
    for line in text.splitlines():
        try:
            at.type(line, online="pip install" in line)
        except AssertionError as error:
            if any(word in str(error) for word in UNREACHABLE):
                pytest.skip(f"packages cannot be installed here: {error}")
            raise


def secure(at: Host) -> None:
    """Write into the site's file what the part about tokens says."""
    (keys,) = re.findall(r"^```toml\n\[status\]\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    at.type(f"cat >keys <<'END'\n{keys}END\nsed -i '/^\\[status\\]$/r keys' /etc/isthmus/{at.name}.toml")


def without_packages(text: str) -> str:
    """For the second host, which has the first one's /opt/isthmus."""
    return "".join(line for line in text.splitlines(keepends=True) if not re.search("venv|pip install", line))


def type_all(typed: list[Box], host_of: dict[str, Host], lines: dict[str, str]) -> None:
    """Each at its hosts; what `isthmus invite` prints takes the place of LINE-OF-... in the boxes after it."""
    assert typed
    for box in typed:
        for name in box.hosts:
            text = re.sub(r"LINE-OF-(\w+)", lambda match: lines[match[1].lower()], box.text)
            said = host_of[name].type(text)
            if "isthmus invite" in text:
                lines[name] = said.splitlines()[-1]


def replicated(wan: Wan) -> None:
    """Data goes through."""
    with wan.inside("east"):
        sending = send(cut(content(), 256 << 10), FORWARD)
    whole(receipt(content()), sending)


def status(at: Host) -> dict[str, object]:
    found: dict[str, object] = json.loads(at.type(f"isthmus status /etc/isthmus/{at.name}.toml --json"))
    return found


def priority(at: Host) -> object:
    """Of the site's forward, as the running site has it."""
    return look_up(status(at), "peers.0.shares.0.priority")


def wait_up(host_of: dict[str, Host]) -> None:
    """Until both tunnels are up."""
    for at in host_of.values():
        asked = f"isthmus status /etc/isthmus/{at.name}.toml --json || true"
        until(lambda at=at, asked=asked: '"state": "up"' in at.type(asked), f"{at.name} has no tunnel{at.log()}")  # type: ignore[misc]


def fingerprint(west: Host) -> str:
    """Of the certificate that west takes for east's."""
    return west.type("sha256sum /etc/isthmus/east.crt").split()[0]


def test_versions_are_this_one() -> None:
    assert set(re.findall(r"isthmus[:-](\d+\.\d+\.\d+)", TEXT)) == {__version__}
