"""What runs a new site in a container: a copy of the compose file of `deploy/site`, and what it needs to know."""

import os
from importlib.resources import files as resources
from pathlib import Path

from proxy import __version__
from proxy.files import File

COMPOSE = "compose.yaml"
VALUES = ".env"
NAMES = COMPOSE, VALUES
IMAGE_USER = "10001:10001"
"""The image's own."""
STATE = "state"
"""The one directory that a site may write in its container, beside its file."""


def files(site: str, directory: Path) -> list[File]:
    """The compose file, which is the same for all sites, and the values that it takes from beside it."""
    content = resources("proxy.setup").joinpath(COMPOSE).read_bytes()
    return [(directory / COMPOSE, content, 0o644), (directory / VALUES, _values(site).encode(), 0o644)]


def user() -> str:
    """As whom the site runs in the container, and who has to own its files: whoever makes them, but never root."""
    return IMAGE_USER if os.getuid() == 0 else f"{os.getuid()}:{os.getgid()}"


def _values(site: str) -> str:
    return (
        f"# For {COMPOSE}: the image, the site's file without .toml, and as whom it runs, who has to own its files.\n"
        f"ISTHMUS_IMAGE=isthmus:{__version__}\n"
        f"ISTHMUS_SITE={site}\n"
        f"ISTHMUS_USER={user()}\n"
        "# Whose local time `[[peer.schedule]]` goes by, such as Europe/Berlin; a name that is not known is UTC.\n"
        "ISTHMUS_TIME_ZONE=UTC\n"
        "# For --profile monitoring: a copy of the directory `monitoring` that comes with Isthmus (OPERATIONS.md).\n"
        "ISTHMUS_MONITORING=./monitoring\n"
    )
