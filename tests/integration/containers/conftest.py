"""Images are built once, from this checkout, and removed at the end; the engine keeps its cache."""

import contextlib
import os
from collections.abc import Iterator

import pytest

from tests.integration.containers.engine import ROOT, UNREACHABLE, EngineFailure, base, docker, lacking

ATTEMPTS = 3


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """The image of a site, by name; its name with "-lab" is that of the lab."""
    if reason := lacking():
        pytest.skip(reason)
    name = f"isthmus-test-{os.getpid()}"
    build(name, "site")
    build(f"{name}-lab", "lab")
    yield name
    for each in (f"{name}-lab", name):
        with contextlib.suppress(EngineFailure):
            docker("rmi", "--force", each)


def build(name: str, target: str) -> None:
    """Skips the tests if packages cannot be reached from here; anything else that fails is a fault."""
    for attempt in range(ATTEMPTS):
        try:
            docker(
                *("build", "--network=host", "--file", "deploy/image/Dockerfile", "--build-arg", f"BASE={base()}"),
                *("--target", target, "--tag", name, str(ROOT)),
                seconds=600,
            )
            return
        except EngineFailure as error:
            if not any(word in str(error) for word in UNREACHABLE):
                raise
            if attempt == ATTEMPTS - 1:
                pytest.skip(f"the image cannot be built here, its packages are out of reach: {error}")
