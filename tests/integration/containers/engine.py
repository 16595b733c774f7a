"""Whatever container engine this machine has, by its command line; and projects of compose files.

`lacking()` says why there can be no containers here. Commands that fail raise EngineFailure with their last words.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
BASES = ("python:3.13-slim", "python:3.12-slim", "python:3.11-slim")
"""What the image may be built on: the first one that is here, otherwise the first one that can be had."""
PATIENCE_SECONDS = 240.0
UNREACHABLE = (
    "Temporary failure",
    "Could not resolve",
    "no such host",
    "Failed to establish",
    "Could not connect",
    "timed out",
    "Connection reset",
    "Unable to fetch",
    "Failed to fetch",
    "Could not find a version",
    "TLS handshake",
)
"""Words of builds that fail for want of a network."""


class EngineFailure(Exception):
    """A command of the engine failed."""


def docker(*arguments: str, seconds: float = PATIENCE_SECONDS) -> str:
    """What `docker` prints."""
    return run(["docker", *arguments], seconds=seconds)


def run(command: list[str], *, seconds: float = PATIENCE_SECONDS, environment: Mapping[str, str] | None = None) -> str:
    """What the command prints."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        raise EngineFailure(f"`{' '.join(command)}` takes longer than {seconds:.0f} s") from None
    if done.returncode:
        words = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise EngineFailure(f"`{' '.join(command)}` ended with status {done.returncode}:\n{words}")
    return done.stdout


@cache
def lacking() -> str:
    """Why there can be no containers here, or nothing."""
    if not shutil.which("docker"):
        return "no container engine: docker is not installed"
    try:
        docker("info", seconds=60)
    except EngineFailure:
        return "no container engine answers (docker info)"
    if not compose_command():
        return "neither docker compose nor docker-compose is installed"
    return "" if base() else f"none of the images {', '.join(BASES)} is here or can be pulled"


@cache
def compose_command() -> tuple[str, ...]:
    """The first one that is there, or nothing."""
    for command in (("docker", "compose"), ("docker-compose",)):
        try:
            run([*command, "version"], seconds=60)
        except (EngineFailure, OSError):
            continue
        return command
    return ()


@cache
def base() -> str:
    """The image to build on, or nothing."""
    for how in (["image", "inspect"], ["pull", "--quiet"]):
        for image in BASES:
            try:
                docker(*how, image)
            except EngineFailure:
                continue
            return image
    return ""


def wait_for(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Poll; raises EngineFailure in the end."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise EngineFailure(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.2)


class Project:
    """A compose file that is up under a name of its own."""

    def __init__(self, name: str, file: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self._file = file
        self._environment = dict(environment)

    def compose(self, *arguments: str, seconds: float = PATIENCE_SECONDS) -> str:
        """What the compose command prints."""
        command = [*compose_command(), "-p", self.name, "-f", str(self._file), *arguments]
        return run(command, seconds=seconds, environment=self._environment)

    def container(self, service: str) -> str:
        """The id of the service's container, also if it has ended."""
        return self.compose("ps", "-a", "-q", service).split()[0]

    def inspect(self, service: str, what: str) -> str:
        """A field of the service's container, as a Go template."""
        return docker("inspect", "--format", what, self.container(service)).strip()

    def execute(self, service: str, *command: str) -> str:
        """Run something in the service's container."""
        return docker("exec", self.container(service), *command)

    def wait_healthy(self, service: str) -> None:
        """Until the engine calls it healthy."""
        wait_for(lambda: self.inspect(service, "{{.State.Health.Status}}") == "healthy", f"{service} is not healthy")

    def down(self) -> None:
        """Remove everything of it but images."""
        self.compose("down", "--volumes", "--remove-orphans", "--timeout", "5")
