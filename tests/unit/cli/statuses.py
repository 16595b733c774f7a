"""What a site may answer for its status, right or odd, and how what is shown of it is read."""

import re
from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st
from rich.console import Console, RenderableType

MiB = 1 << 20

STATUS: dict[str, Any] = {
    "site": "east",
    "version": "0.1.0",
    "started": 1.0,
    "uptime_seconds": 93784.0,
    "ready": True,
    "draining": False,
    "peers": [
        {
            "name": "west",
            "state": "up",
            "lanes": [{"number": 1}],
            "round_trip_seconds": 0.1002,
            "outages": 2,
            "streams": 1,
            "last_error": "",
            "rate_bits_per_second": 45_000_000,
            "held_seconds": 61.0,
            "shares": [
                {
                    "name": "forward replication",
                    "priority": "high",
                    "guarantee_bits_per_second": 30_000_000,
                    "maximum_bits_per_second": None,
                    "dscp": 0,
                    "bits_per_second": 12_345_678,
                    "wire_bytes": 5 * MiB,
                    "held_seconds": 3.0,
                }
            ],
            "verdict": {"limit": "wan rate", "share": 0.93, "words": "the line takes 43.1 Mb/s"},
        }
    ],
    "streams": [
        {
            "id": 7,
            "peer": "west",
            "forward": "replication",
            "export": None,
            "origin": "10.0.0.9:51234",
            "direction": "outward",
            "age_seconds": 61.0,
            "compression": "zstd 3, 8 MiB",
            "bytes": {"raw": 5 * MiB, "delivered": 4096},
            "verdict": {"limit": "source idle", "share": 0.614, "words": "nothing came from the array"},
        }
    ],
    "store": {"mode": "memory", "size_bytes": 2048 * MiB, "used_bytes": 512 * MiB, "chunks": 32768, "hits": 12},
    "bytes": {
        "raw": 1000 * MiB,
        "after_deduplication": 250 * MiB,
        "after_compression": 125 * MiB,
        "wire": 130 * MiB,
        "verified": 900 * MiB,
    },
    "alarms": ["the store is full of [red]holes[/red]"],
}


REASON = {"code": "IST-102", "level": "critical", "words": "no lane is up", "remedy": "see the line", "since": 40.0}


def rendered(what: RenderableType, width: int, height: int | None = None) -> str:
    """What a terminal of that size shows."""
    console = Console(width=width, height=height)
    with console.capture() as captured:
        console.print(what)
    return captured.get()


def rows(text: str) -> list[list[str]]:
    """The cells of each line that is not empty."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]


def anything(keys: Collection[str]) -> st.SearchStrategy[Any]:
    """Whatever JSON can be; objects have these keys."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*keys]), inner),
        max_leaves=10,
    )
