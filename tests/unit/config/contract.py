"""The pair of files that the first release promised: they work as they stand, for good."""

from pathlib import Path

from proxy.config.loading import parse
from proxy.config.model import SiteConfig

EAST = """\
[site]
name = "east"
[identity]
certificate = "east.crt"
key = "east.key"
[tunnel]
listen = "198.18.0.1:4500"
[store]
mode = "memory"
size = "2GiB"

[status]
listen = "127.0.0.1:8900"
[[peer]]
name = "west"
address = "198.18.0.2:4500"
certificate = "west.crt"

[[forward]]
name = "replication"
listen = "127.0.0.1:3260"
peer = "west"
export = "array"
"""

WEST = """\
[site]
name = "west"
[identity]
certificate = "west.crt"
key = "west.key"
[tunnel]
listen = "198.18.0.2:4500"
[store]
mode = "disk"
path = "store"
size = "10GiB"
[status]
listen = "127.0.0.1:8901"
[[peer]]
name = "east"
certificate = "east.crt"

[[export]]
name = "array"
address = "10.1.0.5:3260"
peers = ["east"]
"""


NOWHERE = Path("nowhere/site.toml")
"""Where texts are said to come from."""


def site_of(text: str) -> SiteConfig:
    """What such a file says; nobody looks for the files that it names."""
    return parse(text.encode(), NOWHERE, files=False)
