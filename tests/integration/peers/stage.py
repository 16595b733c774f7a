"""What these tests share beyond the bed: a hub that has one real and one scripted peer, logs as records, memory."""

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.sites import Address, Site, SiteFailure, free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed, Forward, drain, resident
from tests.integration.peers.scripted import ScriptedLane, context, dial
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Hub:
    """West, with two peers that may reach its array: east, a real site, and rogue, which the test plays."""

    west: Site
    east: Site
    tunnel: Address
    """Where west listens."""
    entrance: Address
    """East's forward to west's array."""
    to_rogue: Address
    """West's forward to rogue's export "array"."""
    directory: Path

    def dial(self) -> ScriptedLane:
        """Connect to west with rogue's certificate."""
        return dial(self.tunnel, context(self.directory / "rogue"))

    def still_works(self, array: Array) -> None:
        """East replicates through west as if nothing had happened."""
        content = volume(f"for {len(array.arrivals)}", 1 << 20)
        sending = send(cut(content, 1 << 17), self.entrance)
        whole(receipt(content), sending, why=lambda: west_says(self))


@contextlib.contextmanager
def hub(bed: Bed, array: Address, *, other: Address | None = None, **tunnel: str | int) -> Iterator[Hub]:
    """A hub that runs, with the real peer up; drained afterwards.

    `other`: an address that only rogue may reach, as "other"; `tunnel`: settings of west's.
    """
    listening, ahead, out = ("127.0.0.1", free_port()), Forward("array", "west"), Forward("array", "rogue")
    west = bed.site(
        "west",
        {"east": None, "rogue": None},
        forwards=[out],
        exports={"array": (array, ["east", "rogue"]), **({"other": (other, ["rogue"])} if other else {})},
        tunnel={"listen": f"{listening[0]}:{listening[1]}", "drain": "1s", **tunnel},
    )
    east = bed.site("east", {"west": listening}, forwards=[ahead], tunnel={"drain": "1s"})
    for site in (west, east):
        site.start()
    for site in (west, east):
        site.wait_ready()
    east.wait_up()
    yield Hub(west, east, listening, ahead.address, out.address, bed.directory)
    drain(west, east)


def records(site: Site) -> list[dict[str, Any]]:
    """The site's log, line by line (a line that is being written is left out); each has to be JSON."""
    return [json.loads(line) for line in site.log.read_text().split("\n")[:-1]]


def messages(site: Site) -> list[str]:
    """What the site's log says."""
    return [str(record["message"]) for record in records(site)]


def says(site: Site, *words: str, seconds: float = PATIENCE) -> str:
    """Wait for one log message that has all these words, and return it. Raises SiteFailure."""
    deadline = time.monotonic() + seconds
    while not (found := [message for message in messages(site) if all(word in message for word in words)]):
        if time.monotonic() > deadline:
            raise SiteFailure(f"the log of {site.name} does not say {words}; its end:\n{site.tail()}")
        time.sleep(0.02)
    return found[-1]


def west_says(stage: Hub) -> str:
    """The end of west's log, for messages of failed assertions."""
    return stage.west.tail()


def watch_memory(site: Site) -> Callable[[], int]:
    """From now on: by how many bytes the process has grown at most, even for a moment (VmHWM of Linux).

    Begins when the store has made itself ready.
    """
    site.wait_prepared(PATIENCE)
    before, deadline = -1, time.monotonic() + PATIENCE
    while (now := resident(site)) != before and time.monotonic() < deadline:
        before = now
        time.sleep(0.25)
    Path(f"/proc/{site.pid}/clear_refs").write_text("5")
    return lambda: site.peak_memory() - now


def peer_of(site: Site, name: str) -> dict[str, Any]:
    """What the site's status says of that peer, as soon as it answers."""
    site.wait_ready()
    found: dict[str, Any] = next(peer for peer in site.status()["peers"] if peer["name"] == name)
    return found


def listening(site: Site) -> Address:
    """Where the site listens for tunnels, by its file."""
    found = re.search(r'\[tunnel\][^\[]*^listen = "(.*):(\d+)"', site.config.read_text(), re.MULTILINE)
    assert found
    return found[1], int(found[2])
