"""Sites as a user would run them: real processes from configuration files, watched through the status listener.

A `Pair` makes two sites on loopback, "east" with a forward and "west" with an export for each address it is given:

    with Pair({"array": ("127.0.0.1", 3260)}, store="disk", store_size="2GiB") as pair:
        connect(pair.forwards["array"])
        pair.east.status()["bytes"]

On leaving, both sites drain; what does not end in time is killed.
"""

import contextlib
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self

from bench.ending import bound, scratch

if TYPE_CHECKING:  # the ends of `bench.load` import this module, and start sooner without `bench.wan`
    from bench.wan import Wan

Address = tuple[str, int]

START_SECONDS = 90.0
STOP_SECONDS = 60.0
ANSWER_SECONDS = 30.0
"""All three are long enough for a machine that others keep busy."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.1
"""Seconds between two questions to a site; they grow with the time that has been waited."""
TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds by which the kernel counts CPU time: what takes less may seem to take none."""
TAIL_LINES = 20
LOWEST_PORT, PORTS = 10_000, 22_000
"""Below those that Linux gives to outgoing connections (from 32768)."""
CLAIMS = 256
"""Ports that one process claims at a time, at most: each costs a descriptor."""
_claims: deque[int] = deque()
ROOT = Path(__file__).parents[1]


class SiteFailure(Exception):
    """A site did not do what it should; the message ends with the last lines of its log."""


class Process(Protocol):
    """What a site needs of subprocess.Popen."""

    pid: int

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The exit status. Raises subprocess.TimeoutExpired."""

    def send_signal(self, sig: int, /) -> None:
        """Send a signal, unless the process has ended."""


class Site:
    """One site process and the files it lives on. Usable from any one thread."""

    def __init__(self, name: str, directory: Path, status_port: int) -> None:
        self.name = name
        self.config = directory / f"{name}.toml"
        self.log = directory / f"{name}.log"
        self.status_port = status_port
        self.inside: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        """Makes the context in which the process is started and asked: with `bench.wan`, its network namespace."""
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        """Id of the process that was started last. Raises SiteFailure if there was none."""
        if self._process is None:
            raise SiteFailure(f"site {self.name} was not started")
        return self._process.pid

    @property
    def running(self) -> bool:
        """True from `start` until the process has ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start `isthmus serve`, without waiting; it ends with this process. It appends to the log."""
        with self.log.open("ab") as log, self.inside():
            self._process = self._launch(log)

    def _launch(self, log: BinaryIO) -> Process:
        return subprocess.Popen(
            bound(isthmus("serve", str(self.config))),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(),
            start_new_session=True,  # an interrupt from the keyboard is for us: the sites are stopped in order
        )

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until /healthz says 200."""
        self.wait_for(lambda: self.get("/healthz")[0] == http.client.OK, "is not ready", seconds)

    def wait_up(self, seconds: float = START_SECONDS) -> None:
        """Wait until the tunnels to all peers are up."""
        self.wait_for(
            lambda: all(peer["state"] == "up" for peer in self.status()["peers"]), "has no tunnel to its peer", seconds
        )

    def wait_prepared(self, seconds: float = 10 * START_SECONDS) -> None:
        """Wait until the store's memory has been touched, as it has in a site that was not started just now."""
        self.wait_for(lambda: bool(self.status()["store"]["prepared"]), "has not readied its store", seconds)

    def wait_for(self, condition: Callable[[], bool], otherwise: str, seconds: float = START_SECONDS) -> None:
        """Poll the condition until it is true; a refused connection counts as false.

        Raises SiteFailure if the site ends, or after so many seconds: then `otherwise` says what is wrong.
        """
        began = time.monotonic()
        while (waited := time.monotonic() - began) < seconds:
            if not self.running:
                raise self._failure("ended by itself")
            with contextlib.suppress(OSError):
                if condition():
                    return
            time.sleep(min(max(SHORTEST_PAUSE, waited / 20), LONGEST_PAUSE))  # asking costs both processes CPU time
        raise self._failure(f"{otherwise} after {seconds:.0f} s")

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of a GET from the status listener. Raises OSError if it does not answer within 30 s, or not
        to the end."""
        connection = http.client.HTTPConnection("127.0.0.1", self.status_port, timeout=ANSWER_SECONDS)
        try:
            with self.inside():
                connection.connect()
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"site {self.name} does not answer to the end: {error!r}") from error
        finally:
            connection.close()

    def status(self) -> dict[str, Any]:
        """What /api/v1/status says."""
        code, body = self.get("/api/v1/status")
        if code != http.client.OK:
            raise self._failure(f"answers /api/v1/status with {code}")
        found: dict[str, Any] = json.loads(body)
        return found

    def peak_memory(self) -> int:
        """The most bytes that have been resident since the process started."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise self._failure("has no peak of memory in /proc")

    def cpu_seconds(self) -> float:
        """CPU time that the process has used so far (proc(5), stat: utime and stime)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process lives."""
        if self._process is not None and self.running:
            self._process.send_signal(number)

    def stop(self, seconds: float = STOP_SECONDS) -> int:
        """Ask for a drain by SIGTERM and return the exit status. Raises SiteFailure if it had to be killed."""
        self.signal(signal.SIGTERM)
        assert self._process is not None
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failure(f"did not end within {seconds:.0f} s of SIGTERM") from None

    def kill(self) -> None:
        """End it at once, by SIGKILL, and reap it."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def tail(self) -> str:
        """The last lines of the log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-TAIL_LINES:]) or "(empty)"

    def _failure(self, what: str) -> SiteFailure:
        return SiteFailure(f"site {self.name} {what}; the end of its log:\n{self.tail()}")


def room_for(size: int) -> int:
    """The size of a store that is larger than a transfer of that size, both in bytes."""
    return size * 5 // 4 + (64 << 20)


class Pair:
    """Two sites with a tunnel between them; east dials. A context manager: entering waits until the tunnel is up."""

    def __init__(
        self,
        exports: Mapping[str, Address],
        *,
        store: str = "memory",
        store_size: str = "1GiB",
        settings: str = "",
        tunnel_settings: str = "",
        peer_settings: str = "",
        forward_settings: Mapping[str, str] | None = None,
        wan: "Wan | None" = None,
    ) -> None:
        """`exports`: name to the far address; `store`: memory or disk; `settings`: TOML added to both files.

        `tunnel_settings`: TOML added to both [tunnel] tables; `peer_settings`: to east's [[peer]]; `forward_settings`:
        to a forward, by its name.
        `wan`: a line between the sites; then whatever connects to a forward has to be at its east end, and the far
        addresses have to be at its west end.

        Certificates, stores and logs are in a temporary directory, which is removed at the end.
        """
        self._temporary = contextlib.ExitStack()
        self.directory = self._temporary.enter_context(scratch())
        self.forwards: dict[str, Address] = {name: ("127.0.0.1", free_port()) for name in exports}
        self.east = Site("east", self.directory, free_port())
        self.west = Site("west", self.directory, free_port())
        self.store = store
        self._exports = dict(exports)
        self._store_size = store_size
        self._settings = settings
        self._tunnel_settings = tunnel_settings
        self._peer_settings = peer_settings
        self._forward_settings = forward_settings or {}
        self._tunnel = "127.0.0.1"
        if wan is not None:
            self._tunnel = wan.addresses["west"]
            for site in self.sites:
                site.inside = partial(wan.inside, site.name)

    @property
    def sites(self) -> tuple[Site, Site]:
        """East, west."""
        return self.east, self.west

    def cpu_seconds(self) -> float:
        """CPU seconds that both sites have used so far."""
        return sum(site.cpu_seconds() for site in self.sites)

    def wait_prepared(self) -> None:
        """Wait until both stores are as fast as they get. Raises SiteFailure."""
        for site in self.sites:
            site.wait_prepared()

    def __enter__(self) -> Self:
        try:
            self.prepare()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.stop()
        finally:
            self.close()

    def prepare(self) -> None:
        """Make the keys and both configuration files."""
        for site in self.sites:
            keygen(site.name, self.directory)
        tunnel = f"{self._tunnel}:{free_port()}"
        self.west.config.write_text(self._west(tunnel))
        self.east.config.write_text(self._east(tunnel))

    def start(self) -> None:
        """Start both sites and wait for the tunnel. Raises SiteFailure."""
        for site in self.sites:
            site.start()
        for site in self.sites:
            site.wait_ready()
        for site in self.sites:
            site.wait_up()

    def stop(self) -> None:
        """Drain both at once. Raises SiteFailure if one must be killed or ends with another status than 0."""
        for site in self.sites:
            site.signal(signal.SIGTERM)
        for site in self.sites:
            code = site.stop()
            if code:
                raise SiteFailure(f"site {site.name} ended with status {code}; the end of its log:\n{site.tail()}")

    def close(self) -> None:
        """Kill what still runs, and remove the directory."""
        for site in self.sites:
            site.kill()
        self._temporary.close()

    def _east(self, tunnel: str) -> str:
        forwards = "".join(
            f'[[forward]]\nname = "{name}"\nlisten = "{host}:{port}"\npeer = "west"\nexport = "{name}"\n'
            f"{self._forward_settings.get(name, '')}"
            for name, (host, port) in self.forwards.items()
        )
        own = f"[tunnel]\n{self._tunnel_settings}\n"
        peer = f'[[peer]]\nname = "west"\naddress = "{tunnel}"\n{_trust("west")}{self._peer_settings}\n'
        return f"{self._common(self.east)}\n{own}{peer}{forwards}"

    def _west(self, tunnel: str) -> str:
        exports = "".join(
            f'[[export]]\nname = "{name}"\naddress = "{host}:{port}"\npeers = ["east"]\n'
            for name, (host, port) in self._exports.items()
        )
        listen = f'[tunnel]\nlisten = "{tunnel}"\n{self._tunnel_settings}\n'
        return f'{self._common(self.west)}\n{listen}[[peer]]\nname = "east"\n{_trust("east")}{exports}'

    def _common(self, site: Site) -> str:
        path = f'path = "{site.name}-store"\n' if self.store == "disk" else ""
        return (
            f'[site]\nname = "{site.name}"\n'
            f'[identity]\ncertificate = "{site.name}.crt"\nkey = "{site.name}.key"\n'
            f'[store]\nmode = "{self.store}"\nsize = "{self._store_size}"\n{path}'
            f'[status]\nlisten = "127.0.0.1:{site.status_port}"\n'
            f"{self._settings}"
        )


def _trust(name: str) -> str:
    return f'certificate = "{name}.crt"\n'


def isthmus(*arguments: str) -> list[str]:
    """The command line of this very Isthmus, installed or not."""
    return [sys.executable, "-m", "proxy.cli", *arguments]


def environment() -> dict[str, str]:
    """This process's environment, with the directory of our packages on PYTHONPATH."""
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *([inherited] if inherited else [])])}


def ran(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of this Isthmus to its end."""
    return subprocess.run(isthmus(*arguments), env=environment(), capture_output=True, text=True, check=False)


def keygen(site: str, directory: Path) -> None:
    """`isthmus keygen`. Raises SiteFailure."""
    done = ran("keygen", "--site", site, "--out", str(directory))
    if done.returncode:
        raise SiteFailure(f"isthmus keygen for {site} ended with status {done.returncode}:\n{done.stderr.strip()}")


def free_port() -> int:
    """A loopback TCP port that nobody listens on now, and that the kernel does not give to connections.

    No other process is given it here until this one ends, or has asked for CLAIMS more.
    """
    return free_ports(1)[0]


def free_ports(count: int) -> range:
    """So many consecutive ports, each as `free_port` gives it."""
    while True:
        first = LOWEST_PORT + secrets.randbelow(PORTS - count)
        with contextlib.suppress(OSError):
            for port in (found := range(first, first + count)):
                _claim(port)
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return found


def _claim(port: int) -> None:
    """Claim a port by an abstract socket name (unix(7)), which leaves nothing behind. Raises OSError if it is taken."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        claim.bind(f"\0isthmus-port-{port}")
        _claims.append(claim.detach())
    if len(_claims) > CLAIMS:
        os.close(_claims.popleft())
