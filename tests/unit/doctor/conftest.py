"""Facts of a host and a site on which nothing is wrong; each test spoils one."""

from pathlib import Path

import pytest

from proxy.config.loading import parse
from proxy.config.model import SiteConfig
from proxy.doctor.facts import Kernel
from tests.unit.config.contract import EAST, WEST

KERNEL = Kernel(
    available=("reno", "cubic", "bbr"),
    allowed=("reno", "cubic", "bbr"),
    default="bbr",
    modules=(),
    read=(4096, 131072, 32 << 20),
    write=(4096, 16384, 32 << 20),
    scaling=True,
    tuning=True,
    probing=1,
)


def site(text: str) -> SiteConfig:
    return parse(text.encode(), Path("site.toml"), files=False)


@pytest.fixture
def east() -> SiteConfig:
    """Dials west, forwards to it, has a memory store of 2 GiB."""
    return site(EAST)


@pytest.fixture
def west() -> SiteConfig:
    """Waits for east, exports to it, has a disk store of 10 GiB."""
    return site(WEST)
