"""Sites for the tests: files for any number of them, run as processes from `bench.sites`, their logs judged at the end.

bed = Bed(directory)
pair = bed.pair(array.address, store={"mode": "disk", "size": "64MiB"}, tunnel={"grace": "2s"})
with pair.running():
    send(writes, pair.entrance)
"""

import contextlib
import json
import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.sites import Address, Site, SiteFailure, free_port
from tests.certificates import make
from tests.forking import make_ready
from tests.integration.bed.forked import ForkedSite
from tests.patience import PATIENCE

Settings = Mapping[str, str | int]


@dataclass(frozen=True)
class Forward:
    """A local address whose connections go to the export of a peer."""

    name: str
    peer: str
    port: int = field(default_factory=free_port)
    protocol: str = "auto"
    portal: str | None = None

    @property
    def address(self) -> Address:
        """Where the near array connects to."""
        return "127.0.0.1", self.port


@dataclass(frozen=True)
class Pair:
    """East dials west. East forwards to west's array, and west, if there is one, to east's."""

    east: Site
    west: Site
    entrance: Address
    """East's forward."""
    back: Address
    """West's forward."""

    @property
    def sites(self) -> tuple[Site, Site]:
        """East, west."""
        return self.east, self.west

    @contextlib.contextmanager
    def running(self) -> Iterator["Pair"]:
        """Both sites up with a tunnel between them; drained afterwards."""
        run(*self.sites)
        yield self
        drain(*self.sites)


class Bed:
    """Makes sites in one directory; `close` kills what still runs."""

    def __init__(self, directory: Path, *, typed: Sequence[str] = ()) -> None:
        """`typed`: names of sites that start as if their command had been typed, and not at once."""
        self.directory = directory
        self.sites: list[Site] = []
        self._typed = typed
        make_ready()  # here, and not in the namespace where the first site may be

    def site(
        self,
        name: str,
        peers: Mapping[str, Address | None],
        *,
        forwards: Sequence[Forward] = (),
        exports: Mapping[str, tuple[Address, Sequence[str]]] | None = None,
        tunnel: Settings | None = None,
        store: Settings | None = None,
    ) -> Site:
        """Write a site's file. `exports`: name to address and the peers that may reach it."""
        for known in (name, *peers):
            if not (self.directory / f"{known}.crt").exists():
                make(self.directory / known, known, days=(-1, 400))
        kind = Site if name in self._typed else ForkedSite
        site = kind(name, self.directory, free_port())
        tables: list[tuple[str, Mapping[str, object]]] = [
            ("[site]", {"name": name}),
            ("[identity]", {"certificate": f"{name}.crt", "key": f"{name}.key"}),
            ("[tunnel]", {"reconnect_max": "1s", "lanes": 1, **(tunnel or {})}),
            ("[store]", _store(name, store or {})),
            ("[status]", {"listen": f"127.0.0.1:{site.status_port}"}),
            *(("[[peer]]", _peer(peer, address)) for peer, address in peers.items()),
            *(("[[forward]]", _forward(forward)) for forward in forwards),
            *(("[[export]]", _export(export, *where)) for export, where in (exports or {}).items()),
        ]
        site.config.write_text("".join(f"{head}\n{_body(table)}\n" for head, table in tables))
        self.sites.append(site)
        return site

    def pair(
        self,
        far: Address,
        near: Address | None = None,
        *,
        tunnel: Settings | None = None,
        store: Settings | None = None,
        stores: tuple[Settings, Settings] | None = None,
        tunnel_address: Address | None = None,
        dialled: Address | None = None,
    ) -> Pair:
        """`far` and `near`: west's and east's array; `stores`: east's and west's, where they differ.

        `tunnel_address`: where west listens; `dialled`: what east dials instead, such as a `Wire`.
        """
        listening = tunnel_address or ("127.0.0.1", free_port())
        ahead, back = Forward("array", "west"), Forward("home", "east")
        of_east, of_west = stores or (store or {}, store or {})
        west = self.site(
            "west",
            {"east": None},
            forwards=[back] if near else [],
            exports={"array": (far, ["east"])},
            tunnel={**(tunnel or {}), "listen": text_of(listening)},
            store=of_west,
        )
        east = self.site(
            "east",
            {"west": dialled or listening},
            forwards=[ahead],
            exports={"home": (near, ["west"])} if near else {},
            tunnel=tunnel,
            store=of_east,
        )
        return Pair(east, west, ahead.address, back.address)

    def joined(
        self,
        forwards: Sequence[Forward],
        arrays: Mapping[str, Address],
        *,
        tunnel: Settings | None = None,
        store: Settings | None = None,
        tunnel_address: Address | None = None,
        dialled: Address | None = None,
    ) -> tuple[Site, Site]:
        """East with these forwards to west, and west with an export for each of the arrays; the rest as of `pair`."""
        listening = tunnel_address or ("127.0.0.1", free_port())
        exports = {name: (address, ["east"]) for name, address in arrays.items()}
        listens = {**(tunnel or {}), "listen": text_of(listening)}
        west = self.site("west", {"east": None}, exports=exports, tunnel=listens, store=store)
        east = self.site("east", {"west": dialled or listening}, forwards=forwards, tunnel=tunnel, store=store)
        return east, west

    def close(self) -> None:
        """Kill what still runs."""
        for site in self.sites:
            site.kill()

    def complaints(self) -> list[str]:
        """Lines of the sites' logs that tell of a defect."""
        return [
            f"{site.name}: {line}"
            for site in self.sites
            if site.log.exists()
            for line in site.log.read_text(errors="replace").splitlines()
            if "traceback" in line.lower() or "defect" in line
        ]


def configure(site: Site, table: str, text: str) -> None:
    """Add keys to the first table of that kind in the site's file."""
    content = site.config.read_text()
    assert f"[[{table}]]\n" in content
    site.config.write_text(content.replace(f"[[{table}]]\n", f"[[{table}]]\n{text}", 1))


def without_peer(name: str, text: str) -> str:
    """A site's file that knows that peer no more."""
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    left = [table for table in tables if not table.startswith(f'[[peer]]\nname = "{name}"\n')]
    assert len(left) == len(tables) - 1
    return "".join(left)


def run(*sites: Site) -> None:
    """Start the sites, and wait until all their tunnels are up. The last is the first to start: it is dialled."""
    for site in reversed(sites):
        site.start()
    for site in sites:
        site.wait_ready()
    for site in sites:
        site.wait_up()


def drain(*sites: Site) -> None:
    """SIGTERM to all; they have to end by themselves, with status 0."""
    for site in sites:
        site.signal(signal.SIGTERM)
    codes = {site.name: site.stop() for site in sites}
    if any(codes.values()):
        raise SiteFailure(f"sites ended with {codes}")


def eventually(site: Site, path: str, wanted: Any, seconds: float = PATIENCE) -> None:
    """Wait until the status says so; `path` as in "peers.0.state"."""
    site.wait_for(lambda: look_up(site.status(), path) == wanted, f"does not say {wanted!r} at {path}", seconds)


def look_up(status: Any, path: str) -> Any:
    """A value of the status by its path."""
    for key in path.split("."):
        status = status[int(key) if isinstance(status, list) else key]
    return status


def alarm(site: Site, words: str) -> None:
    """Wait until the status has an alarm with these words."""
    site.wait_for(
        lambda: any(words in alarm for alarm in site.status()["alarms"]), f"has no alarm that says {words!r}", PATIENCE
    )


def ends(site: Site, peer: int = 0) -> dict[str, int]:
    """Ended streams by reason."""
    found: dict[str, int] = site.status()["peers"][peer]["ended_streams"]
    return found


def lanes_of(site: Site, peer: int = 0) -> list[dict[str, Any]]:
    """Its lanes to a peer."""
    found: list[dict[str, Any]] = site.status()["peers"][peer]["lanes"]
    return found


def wire_bytes(site: Site) -> int:
    """What the site has sent to its peers, as TCP payload."""
    found: int = site.status()["bytes"]["wire"]
    return found


def resident(site: Site) -> int:
    """Bytes of memory that the site has now."""
    found: int = psutil.Process(site.pid).memory_info().rss
    return found


def descriptors(site: Site) -> int:
    """Descriptors that the site has open."""
    return psutil.Process(site.pid).num_fds()


def processor_seconds(site: Site) -> float:
    """CPU time that the site has used."""
    times = psutil.Process(site.pid).cpu_times()
    return float(times.user + times.system)


def logged(site: Site, words: str, seconds: float = PATIENCE) -> None:
    """Wait until the log has these words. Raises SiteFailure."""
    deadline = time.monotonic() + seconds
    while words not in site.log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise SiteFailure(f"the log of {site.name} does not say {words!r}; its end:\n{site.tail()}")
        time.sleep(0.02)


def _store(name: str, settings: Settings) -> Settings:
    path: Settings = {"path": f"{name}-store"} if settings.get("mode") == "disk" else {}
    return {"size": "64MiB", **path, **settings}


def _peer(name: str, address: Address | None) -> Settings:
    return {"name": name, "certificate": f"{name}.crt", **({"address": text_of(address)} if address else {})}


def _forward(forward: Forward) -> Settings:
    return {
        "name": forward.name,
        "listen": text_of(forward.address),
        "peer": forward.peer,
        "export": forward.name,
        "protocol": forward.protocol,
        **({"portal": forward.portal} if forward.portal else {}),
    }


def _export(name: str, address: Address, peers: Sequence[str]) -> Mapping[str, object]:
    return {"name": name, "address": text_of(address), "peers": list(peers)}


def text_of(address: Address) -> str:
    """As a site's file, and iSCSI, has it."""
    return f"{address[0]}:{address[1]}"


def _body(table: Mapping[str, object]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
