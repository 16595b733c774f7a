"""Wheel and sdist: they build with the pinned tools, offline, and hold what a user needs and nothing else."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from proxy import __version__

pytest.importorskip("build", reason="the build tools are not installed (requirements/build.txt)")
pytest.importorskip("hatchling", reason="the build tools are not installed (requirements/build.txt)")

ROOT = Path(__file__).parents[2]
PACKAGES = ("bench", "dedupstore", "proxy")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist, and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def content(wheel: Path, ending: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith(ending))).decode()


def test_the_wheel_is_pure_and_has_the_version(wheel: Path) -> None:
    assert wheel.name == f"isthmus-{__version__}-py3-none-any.whl"


def test_the_wheel_has_all_modules_and_only_ours(wheel: Path) -> None:
    ours = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "__pycache__" not in path.parts
    }
    found = names(wheel)
    assert ours <= found
    tops = {name.split("/")[0] for name in found}
    assert tops == {*PACKAGES, f"isthmus-{__version__}.dist-info", f"isthmus-{__version__}.data"}


@pytest.mark.parametrize(
    "ending",
    [
        "bench/py.typed",
        "dedupstore/py.typed",
        "proxy/py.typed",
        "proxy/PROTOCOL.md",
        "proxy/setup/compose.yaml",
        "dedupstore/FORMAT.md",
        "dist-info/licenses/LICENSE",
        "share/isthmus/isthmus.schema.json",
        "share/isthmus/CONFIGURATION.md",
        "share/isthmus/examples/east.toml",
        "share/isthmus/examples/west.toml",
        "share/isthmus/OPERATIONS.md",
        "share/isthmus/GUIDE.md",
        "share/isthmus/README.md",
        "share/isthmus/monitoring/rules.yml",
        "share/isthmus/monitoring/grafana/dashboards/isthmus.json",
        "share/isthmus/nftables/transparent.nft",
        "share/isthmus/sysctl/90-isthmus.conf",
        "share/isthmus/systemd/isthmus@.service",
    ],
)
def test_the_wheel_has_what_goes_with_the_code(wheel: Path, ending: str) -> None:
    assert [name for name in names(wheel) if name.endswith(ending)]


def test_the_metadata_say_licence_script_and_extra(wheel: Path) -> None:
    metadata = content(wheel, "dist-info/METADATA")
    assert "License-Expression: Apache-2.0" in metadata
    assert "Provides-Extra: bench" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert "isthmus = proxy.cli:main" in content(wheel, "dist-info/entry_points.txt")


def test_the_licence_is_the_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert text.rstrip().endswith("limitations under the License.")


def test_the_sdist_has_what_a_build_and_a_test_run_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"Makefile", "LICENSE", "README.md", "pyproject.toml", "requirements/develop.txt", "tests/conftest.py"}
    assert wanted <= found
    assert not [name for name in found if "__pycache__" in name or name.startswith((".venv", "dist"))]


def test_the_installed_wheel_has_the_command(wheel: Path, tmp_path: Path) -> None:
    """Installed beside nothing of the source tree; its dependencies are those of the running environment."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "isthmus", "--version"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": packages},
    )
    assert done.returncode == 0, done.stderr
    assert __version__ in done.stdout


def pins(name: str) -> dict[str, str]:
    """Requirement to the text of its entry, hashes included."""
    entries = (ROOT / "requirements" / name).read_text().replace("\\\n", " ").splitlines()
    return {entry.split()[0]: entry for entry in entries if entry and not entry.startswith("#")}


@pytest.mark.parametrize("name", ["build.txt", "develop.txt", "image.txt", "lock.txt", "runtime.txt", "site.txt"])
def test_every_pin_is_exact_and_hashed(name: str) -> None:
    for requirement, entry in pins(name).items():
        assert "==" in requirement
        assert "--hash=sha256:" in entry


def test_the_lists_agree_and_cover_what_pyproject_names() -> None:
    develop, runtime = pins("develop.txt"), pins("runtime.txt")
    assert set(runtime) | set(pins("build.txt")) <= set(develop)
    assert set(pins("site.txt")) <= set(runtime)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {requirement.split("==")[0] for requirement in runtime}
    assert {entry.split(">")[0] for entry in project["dependencies"]} <= pinned
    site = {requirement.split("==")[0] for requirement in pins("site.txt")}
    assert {entry.split(">")[0] for entry in project["dependencies"]} <= site
