"""The image: not root, no capability, nothing to write to, and a list of what is in it."""

import json
import re

import pytest

from tests.integration.containers.engine import ROOT, docker

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(1500)]

BARE = ("run", "--rm", "--read-only", "--cap-drop", "ALL", "--network", "none")


def test_it_runs_without_any_right(image: str) -> None:
    assert docker(*BARE, image, "--version").startswith("isthmus ")
    rights = docker(*BARE, "--entrypoint", "sh", image, "-c", "id -u; grep CapEff /proc/self/status").split()
    assert rights == ["10001", "CapEff:", "0" * 16]


def test_it_is_not_root_by_itself_and_has_a_health_check(image: str) -> None:
    config = json.loads(docker("image", "inspect", image))[0]["Config"]
    assert config["User"] == "10001:10001"
    assert config["Healthcheck"]["Test"][:3] == ["CMD", "isthmus", "status"]
    assert config["Entrypoint"] == ["isthmus"]


def test_its_list_of_contents_is_that_of_the_pinned_packages(image: str) -> None:
    path = docker("image", "inspect", "--format", '{{index .Config.Labels "isthmus.sbom"}}', image).strip()
    listed = json.loads(docker(*BARE, "--entrypoint", "cat", image, path))
    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["name"] == "isthmus"
    found = {(folded(each["name"]), each["version"]) for each in listed["components"]}
    found.discard(("isthmus", listed["metadata"]["component"].get("version", "")))
    pinned = re.findall(r"^([\w.-]+)==([\w.+-]+)", (ROOT / "requirements" / "site.txt").read_text(), re.MULTILINE)
    assert found
    assert found <= {(folded(name), version) for name, version in pinned}
    assert {"blake3", "cryptography", "lmdb", "zstandard"} <= {name for name, _ in found}


def folded(name: str) -> str:
    """As package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()
