"""deploy/lab as it is written: one command brings two sites, two arrays and a bad line up and replicates a volume.

Then either proxy's container is killed in the middle of a replication; the volumes are identical all the same.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.integration.containers.engine import ROOT, EngineFailure, Project, base, docker, wait_for

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(1500)]

FILE = ROOT / "deploy" / "lab" / "compose.yaml"
SITE_FILE = "/etc/isthmus/site.toml"
VOLUME = "24MiB"
ATTEMPTS = 3


@pytest.fixture(scope="module")
def lab(image: str) -> Iterator[Project]:
    values = {
        "ISTHMUS_IMAGE": image,
        "BASE": base(),
        "BUILD_NETWORK": "host",
        "VOLUME": VOLUME,
        "ROUNDS": "2",
    }
    project = Project(f"isthmuslab{os.getpid()}", FILE, values)
    try:
        project.compose("up", "--build", "--detach", seconds=900)
        yield project
    finally:
        project.down()


def test_one_command_replicates_a_volume(lab: Project) -> None:
    assert ended(lab.container("story")) == 0, lab.compose("logs", "--no-color", "story", "east", "west", "line")
    told = docker("logs", lab.container("story"))
    rounds = re.findall(r"round \d+: .* ([\d.]+) MB crossed the WAN, identical", told)
    assert len(rounds) == 2
    assert "all rounds: identical" in told
    cold, warm = map(float, rounds)
    assert cold > 9  # half of the volume does not compress
    assert warm < cold / 4  # a 32nd of it has changed


@pytest.mark.parametrize("service", ["east", "west"])
def test_sites_have_no_rights(lab: Project, service: str) -> None:
    assert lab.inspect(service, "{{.HostConfig.ReadonlyRootfs}}") == "true"
    assert lab.inspect(service, "{{.HostConfig.CapAdd}}") in ("[]", "<no value>", "<nil>")
    status = lab.execute(service, "cat", "/proc/1/status")
    assert re.search(r"^CapEff:\s*0{16}$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s*1$", status, re.MULTILINE)
    assert re.search(r"^Uid:\s*10001\b", status, re.MULTILINE)


@pytest.mark.parametrize("service", ["east", "west"])
def test_sites_keep_their_history(lab: Project, service: str) -> None:
    """Otherwise the first thing that a stranger sees of the lab is a warning."""
    wait_for(lambda: up(lab), "the tunnel is not up")
    told = lab.execute(service, "isthmus", "events", SITE_FILE)
    assert "IST-401" in told
    assert "IST-404" not in told


def test_wests_status_asks_for_a_token(lab: Project) -> None:
    """It is exported to east, through whose tunnel Prometheus reads it, as a user to whom everything is foreign."""
    wait_for(lambda: up(lab), "the tunnel is not up")
    token = docker("exec", "--user", "65534", lab.container("east"), "cat", "/etc/isthmus/keys/west.token.prometheus")
    assert lab.execute("east", "python", "-c", ASK, token.strip()).split() == ["401", "200", "401"]


ASK = """
import http.client, sys
given = sys.argv[1]
for token, method, path in (("", "GET", "/metrics"), (given, "GET", "/metrics"), (given, "POST", "/api/v1/drain")):
    listener = http.client.HTTPConnection("127.0.0.1", 8901, timeout=60)
    listener.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
    print(listener.getresponse().status)
"""


def test_killing_either_proxy_loses_nothing(lab: Project) -> None:
    assert ended(lab.container("story")) == 0  # docker-compose 1.29 links a second one to the first while that runs
    for attempt in range(ATTEMPTS):
        if killed_in_the_middle(lab, f"kills-{attempt}"):
            return
    pytest.fail(f"{ATTEMPTS} replications were over before both proxies could be killed")


def killed_in_the_middle(lab: Project, seed: str) -> bool:
    """Replicate another volume and kill first west, then east meanwhile; False if it was over too soon."""
    wait_for(lambda: up(lab), "the tunnel is not up")
    lab.execute("line", "isthmus", "wan", "set", "--rate", "4Mbit")
    before = sent(lab)
    story = f"{lab.name}-{seed}"
    command = ["python", "-m", "bench.lab.story", "--size", VOLUME, "--rounds", "1", "--seed", seed]
    files = ["--volumes", "/array/east/unit1", "/array/west/unit1"]
    lab.compose("run", "--detach", "--no-deps", "--name", story, "story", *command, *files)
    try:
        for number, victim in enumerate(("west", "east"), 1):
            enough = before + number * (1 << 20)
            wait_for(lambda enough=enough: sent(lab) > enough or not running(story), "nothing is replicated")  # type: ignore[misc]
            docker("kill", lab.container(victim))
            in_time = running(story)
            docker("start", lab.container(victim))
        lab.execute("line", "isthmus", "wan", "set", "--rate", "45Mbit")
        assert ended(story) == 0, docker("logs", story) + lab.compose("logs", "--no-color", "east", "west")
        assert ", identical" in docker("logs", story)
    finally:
        with suppress(EngineFailure):
            docker("rm", "--force", story)
    return in_time


def up(lab: Project) -> bool:
    """Whether the tunnel is."""
    try:
        return all(peer["state"] == "up" for peer in status(lab)["peers"])
    except EngineFailure:  # east does not answer yet
        return False


def sent(lab: Project) -> int:
    """Plain bytes that east has taken from its array since it started."""
    taken: int = status(lab)["bytes"]["raw"]
    return taken


def status(lab: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lab.execute("east", "isthmus", "status", SITE_FILE, "--json"))
    return found


def running(container: str) -> bool:
    return docker("inspect", "--format", "{{.State.Running}}", container).strip() == "true"


def ended(container: str) -> int:
    """The exit code, at the container's end."""
    wait_for(lambda: not running(container), f"{container} does not end", 600)
    return int(docker("inspect", "--format", "{{.State.ExitCode}}", container))
