"""What of a changed file awaits a restart: what a reload takes over does not."""

from pathlib import Path

import pytest

from proxy.config.difference import awaiting_restart
from proxy.config.loading import parse
from proxy.config.model import SiteConfig
from tests.unit.config.contract import EAST

NORTH = '\n[[peer]]\nname = "north"\naddress = "198.18.0.3:4500"\ncertificate = "north.crt"\n'


def read(text: str) -> SiteConfig:
    return parse(text.encode(), Path("/etc/isthmus/east.toml"), files=False)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("2GiB", "2GiB", ()),
        ("[site]", "# the same\n[site]", ()),
        ('mode = "memory"', 'mode = "memory"\ncache = "160MiB"', ()),  # the default
        ('"east.key"', '"new.key"', ()),
        ('"west.crt"', '"new.crt"', ()),
        ("2GiB", "3GiB", ("store.size",)),
        ("[status]\nlisten", '[status]\ntoken = "east.token"\nlisten', ("status.token",)),
        ("[status]", '[log]\nlevel = "debug"\n[status]', ("log.level",)),
        ('address = "198.18.0.2:4500"', 'address = "198.18.0.9:4500"', ("peer west",)),
        ("127.0.0.1:3260", "127.0.0.1:3261", ("forward replication",)),
        ('name = "replication"', 'name = "other"', ("forward replication", "forward other")),
        ("[[forward]]", f"{NORTH}[[forward]]", ("peer north",)),
    ],
)
def test_what_differs(before: str, after: str, wanted: tuple[str, ...]) -> None:
    assert before in EAST
    assert awaiting_restart(read(EAST), read(EAST.replace(before, after, 1))) == wanted
