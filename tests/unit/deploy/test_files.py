"""Site files and compose files of deploy/: sound, and as strict as they claim to be; what documents name is there."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from proxy.config.loading import parse
from proxy.setup.container import STATE

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(DEPLOY.glob("*.md"))]
VALUES = {"ISTHMUS_IMAGE": "isthmus", "ISTHMUS_SITE": "east"}


@pytest.mark.parametrize("name", ["east", "west"])
def test_the_labs_site_files_are_sound(name: str) -> None:
    path = DEPLOY / "lab" / f"{name}.toml"
    assert parse(path.read_bytes(), path, files=False).site.name == name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_refers_to_is_there(document: Path) -> None:
    for path, heading in links(document):
        place = document.parent / path if path else document
        assert place.exists(), path
        assert not heading or heading in headings(place), f"{path}#{heading}"


def test_what_installed_documents_refer_to_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    installed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    for document in (ROOT / name for name in installed if name.endswith(".md")):
        named = {f"deploy/{path.split('/')[0]}" for path, _ in links(document) if path}
        assert named <= set(installed), document


def test_what_root_installs_can_be_read_by_the_sites_user() -> None:
    """Also where root's umask is 077, as on hardened hosts: pip and openssl heed it, and no site started."""
    text = (DEPLOY / "OPERATIONS.md").read_text()
    boxes: list[str] = re.findall(r"^```sh \w+ .*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    installing = [box for box in boxes if "pip install" in box]
    assert len(installing) == 2
    for box in installing:
        assert "chmod -R a+rX /opt/isthmus" in box.rpartition("pip install")[2]
    (listener,) = [box for box in boxes if "-out listener.crt" in box]
    assert re.search(r"^chown isthmus: .*listener\.crt", listener, re.MULTILINE)


def links(document: Path) -> list[tuple[str, str]]:
    """Path and heading of each link that is not to the web."""
    found = re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", document.read_text())
    return [(path, heading) for path, heading in found if path or heading]


def headings(document: Path) -> set[str]:
    """As links name them."""
    found = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("place", ["site", "lab"])
def test_every_container_is_confined(place: str) -> None:
    """Nothing to write to, no way to more rights, and no capability but that of the lab's hosts."""
    services = composed(DEPLOY / place / "compose.yaml")["services"]
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"] is True, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("cap_add", []) == (["NET_ADMIN"] if name in ("host-east", "host-west") else []), name
        assert not service.get("privileged"), name


def test_a_site_cannot_write_what_its_operator_runs() -> None:
    """Whoever takes it over shall not find the compose file: what that says the next `up` does, as root."""
    file = DEPLOY / "site" / "compose.yaml"
    site = as_data(file.read_text())["services"]["isthmus"]
    beside, state = site["volumes"]
    assert beside == ".:/etc/isthmus:ro,z"
    assert state == {"type": "bind", "source": f"./{STATE}", "target": f"/etc/isthmus/{STATE}"}
    assert site["environment"]["STATE_DIRECTORY"] == f"/etc/isthmus/{STATE}"


def test_a_container_may_read_its_site_where_selinux_is_enforced() -> None:
    """Shared (`z`), not private (`Z`), for `pair` is typed beside the running site; what is mounted below is labelled
    with it, and docker-compose 1 knows no such word for a mount that is written at length."""
    site = as_data((DEPLOY / "site" / "compose.yaml").read_text())["services"]["isthmus"]
    assert site["volumes"][0].endswith(",z")
    mounts = re.findall(r"^docker run .*-v (\S+)", (DEPLOY / "OPERATIONS.md").read_text(), re.MULTILINE)
    assert mounts == ["$PWD:/etc/isthmus:z"] * 3


@pytest.mark.parametrize(("place", "sites"), [("site", ["isthmus"]), ("lab", ["east", "west"])])
def test_a_site_is_not_the_first_process_of_its_container(place: str, sites: list[str]) -> None:
    """From that one the kernel keeps SIGTERM until it heeds it, so a stop soon after the start would be lost."""
    services = composed(DEPLOY / place / "compose.yaml")["services"]
    assert [services[site].get("init") for site in sites] == [True] * len(sites)


@pytest.mark.parametrize(("named", "zone"), [(["Europe/Berlin"], "Europe/Berlin"), ([], "UTC")])
def test_a_site_in_a_container_has_the_time_zone_that_its_timetables_are_meant_in(named: list[str], zone: str) -> None:
    assert composed(DEPLOY / "site" / "compose.yaml", *named)["services"]["isthmus"]["environment"]["TZ"] == zone


@pytest.mark.parametrize("place", ["site", "lab"])
def test_nobody_is_let_into_grafana_by_a_password_that_everybody_knows(place: str) -> None:
    """Grafana's own is admin, for a user of that name."""
    grafana = as_data((DEPLOY / place / "compose.yaml").read_text())["services"]["grafana"]["environment"]
    assert grafana["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"
    assert grafana["GF_AUTH_BASIC_ENABLED"] == "false"
    assert grafana["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"
    assert grafana["GF_AUTH_ANONYMOUS_ENABLED"] == "true"
    assert grafana.get("GF_AUTH_ANONYMOUS_ORG_ROLE", "Viewer") == "Viewer"


def test_no_directory_is_made_where_a_file_of_the_monitoring_is_missing() -> None:
    text = (DEPLOY / "site" / "compose.yaml").read_text()
    mounts = text.count("${ISTHMUS_MONITORING")
    assert mounts == text.count("source: ${ISTHMUS_MONITORING") == 4
    assert "create_host_path:" not in text  # docker-compose 1 refuses the file then


@cache  # the command takes most of a second
def composed(path: Path, zone: str = "") -> dict[str, dict[str, dict[str, Any]]]:
    """What the compose command makes of it, profiles included, with that ISTHMUS_TIME_ZONE. Not to be changed."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if not shutil.which(command[0]):
            continue
        arguments = ["--profile", "monitoring", "-f", str(path), "config"]
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, **VALUES, "ISTHMUS_TIME_ZONE": zone},
        )
        if done.returncode == 0:
            return as_data(done.stdout)
    pytest.skip("neither docker compose nor docker-compose is installed")


def as_data(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(json.dumps(yaml.safe_load(text)))
    return found
