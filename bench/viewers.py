"""`make bench-viewers`: what ten open pages cost a pair that replicates.

Volumes that both sites know go through the pair, in turns without and with ten viewers at each site who listen to
`/api/v1/live` and ask for the rest as often as the page does (proxy/web/static/js). Beside the throughput stands what
a byte costs each site in CPU time, which the viewers' own work on the same cores does not change. The exit status is 1
if a byte differs.
"""

import argparse
import contextlib
import heapq
import http.client
import selectors
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console

from bench import load
from bench.datasets import Dataset
from bench.ending import program
from bench.goals import Goal, goal_table
from bench.machine import machine_facts, machine_text, warn_if_busy
from bench.processes import Process, next_line, own, talking
from bench.programs import file_to_write, measured, tell, told, whole
from bench.sites import TICK, Pair, Site, room_for
from bench.tables import plain_table
from proxy.config.units import show_size
from proxy.errors import ExitCode

MB, MIB = 10**6, 1 << 20
PORT_MAX = 65535
VIEWERS = 10
"""At each site."""
MOST = 2.0
"""Percent of throughput, and of CPU time for a byte, that they may cost."""
_REQUEST = b"GET /api/v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"
_READ = 1 << 20
POLLS = {"history?range=1h": 5.0, "status?streams=none": 5.0, "store": 10.0}
"""What a page asks for, and every how many seconds."""


@dataclass
class Rounds:
    """What was measured in each round, without or with viewers."""

    rates: list[float] = field(default_factory=list)
    """Plain bytes a second."""
    costs: list[float] = field(default_factory=list)
    """CPU seconds of both sites for 2^30 bytes."""

    def note(self, rate: float, cost: float) -> None:
        """Add a round's figures."""
        self.rates.append(rate)
        self.costs.append(cost)


class Comparison:
    """The run: transfers without viewers and with them, in turns."""

    def __init__(self, size: int, rounds: int) -> None:
        """`size` bytes a transfer, `rounds` of each kind."""
        self.alone, self.watched = Rounds(), Rounds()
        self.identical = True
        self.failure = ""
        """Why it was not measured to the end."""
        self.size = size
        self.rounds = rounds

    def run(self, directory: Path) -> None:
        """Measure everything; `directory` has room for the volume."""
        file = directory / "volume"
        Dataset("viewers", self.size).fill(file)
        with (
            load.sinking(file) as (address, sink),
            Pair({"array": address}, store_size=show_size(room_for(self.size))) as pair,
        ):
            pair.wait_prepared()
            for _ in range(2):  # cold, and once more, so that windows and buffers have grown
                self._transfer(file, pair, sink)
            for number in range(self.rounds):
                tell(f"round {number + 1} of {self.rounds}")
                alone = self._transfer(file, pair, sink)
                with watching(pair.sites):
                    watched = self._transfer(file, pair, sink)
                self.alone.note(*alone)  # both or none
                self.watched.note(*watched)

    def _transfer(self, file: Path, pair: Pair, sink: Process) -> tuple[float, float]:
        """Rate and cost."""
        before = pair.cpu_seconds()
        run = load.run(file, pair.forwards["array"], sink, load.Shape())
        self.identical = self.identical and run.identical
        return run.rate, max(pair.cpu_seconds() - before, TICK) * (1 << 30) / run.bytes

    def goals(self) -> Iterator[Goal]:
        """Goals for medians of ratios, each of two transfers in a row, which the machine treated alike."""
        rates = [with_ / without for without, with_ in zip(self.alone.rates, self.watched.rates, strict=True)]
        costs = [with_ / without for without, with_ in zip(self.alone.costs, self.watched.costs, strict=True)]
        yield Goal("throughput lost", 100 * (1 - statistics.median(rates)), MOST, False, "%")
        yield Goal("CPU time for a byte, more", 100 * (statistics.median(costs) - 1), MOST, False, "%")


@contextlib.contextmanager
def watching(sites: tuple[Site, ...]) -> Iterator[None]:
    """Viewers at each site, in one process of the lowest priority. It ends with the context.

    Raises LoadFailure if they cannot connect, or if one of them was no longer served before the context ended.
    """
    ports = [str(site.status_port) for site in sites]
    with talking(["nice", "-n", "19", *own("bench.viewers", "--view", *ports)]) as process:
        if not next_line(process):
            raise load.LoadFailure("the viewers could not connect")
        yield
        if process.poll() is not None:
            raise load.LoadFailure("a viewer was no longer served, so the sites were not watched all the time")


def view(ports: list[int]) -> None:
    """Read what all viewers are sent, until killed or one is no longer served. Prints a line once all are served.

    Raises LoadFailure if one is not.
    """
    with selectors.DefaultSelector() as selector:
        for port in ports:
            for _ in range(VIEWERS):
                selector.register(_viewer(port), selectors.EVENT_READ)
        asking = threading.Thread(target=poll, args=(ports,), daemon=True)
        asking.start()
        print("all are connected", flush=True)
        while asking.is_alive():
            for key, _ in selector.select(timeout=1):
                assert isinstance(key.fileobj, socket.socket)
                if not _sent(key.fileobj):
                    return


def _viewer(port: int) -> socket.socket:
    """The connection of a viewer who is served."""
    wrong = f"no site serves a viewer at 127.0.0.1:{port}"
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        connection.sendall(_REQUEST)
        answer = connection.recv(_READ)
    except OSError as error:
        raise load.LoadFailure(f"{wrong}: {error.strerror or error}") from None
    if not answer.startswith(b"HTTP/1.1 200"):
        raise load.LoadFailure(f"{wrong}: it answers {answer[:40]!r}")
    return connection


def _sent(connection: socket.socket) -> bytes:
    """What has come; nothing if the site has ended the connection, in whatever way."""
    with contextlib.suppress(OSError):
        return connection.recv(_READ)
    return b""


def port_of(text: str) -> int:
    """A port, from an option. Raises argparse.ArgumentTypeError."""
    port = whole(text)
    if port > PORT_MAX:
        raise argparse.ArgumentTypeError(f'"{text}" is no port; write 1 to {PORT_MAX}')
    return port


def poll(ports: list[int]) -> None:
    """Ask for what `/api/v1/live` does not send, each viewer at times of its own, until one is no longer served."""
    due = [
        (every * number / VIEWERS, every, port, path)
        for port in ports
        for number in range(VIEWERS)
        for path, every in POLLS.items()
    ]
    heapq.heapify(due)
    began = time.monotonic()
    connections = {port: http.client.HTTPConnection("127.0.0.1", port, timeout=30) for port in ports}
    with contextlib.suppress(OSError, http.client.HTTPException):
        while True:
            at, every, port, path = due[0]
            time.sleep(max(0.0, began + at - time.monotonic()))
            connections[port].request("GET", f"/api/v1/{path}")
            connections[port].getresponse().read()
            heapq.heapreplace(due, (at + every, every, port, path))


def show(comparison: Comparison, console: Console) -> None:
    """Both tables."""
    console.print(f"{machine_text(machine_facts())}\n{comparison.size // MIB} MiB a transfer", highlight=False)
    columns = ("MB/s", "least", "most", "CPU s for 1 GiB")
    table = plain_table(f"Warm, {len(comparison.alone.rates)} times each", "viewers", *columns, figures=columns)
    for name, rounds in (("none", comparison.alone), (f"{VIEWERS} at each site", comparison.watched)):
        rates = [rate / MB for rate in rounds.rates]
        figures = (statistics.median(rates), min(rates), max(rates), statistics.median(rounds.costs))
        table.add_row(name, *(f"{figure:.2f}" if figure < 10 else f"{figure:.0f}" for figure in figures))
    console.print(table, "", goal_table(comparison.goals()))
    if not comparison.identical:
        console.print("Bytes differ.", style="bold red")


def figures(comparison: Comparison) -> dict[str, object]:
    """The figures for JSON: of each transfer the rate and the CPU seconds for 1 GiB, without viewers and with them."""
    goals = [goal.as_dict() for goal in comparison.goals()]
    return {
        "machine": machine_facts(),
        "bytes": comparison.size,
        "alone": asdict(comparison.alone),
        "watched": asdict(comparison.watched),
        "goals": goals,
        "identical": comparison.identical,
        "failure": comparison.failure,
    }


def conclude(comparison: Comparison, file: Path | None, failure: str) -> bool:
    """Write and show what was measured, if anything; whether all is right."""
    if not comparison.watched.rates:
        return False
    comparison.failure = failure
    return told(figures(comparison), file, partial(show, comparison)) and comparison.identical


def watch(ports: list[int]) -> ExitCode:
    """`view` as a command, which never ends well: it is killed by who needs it no more."""
    try:
        view(ports)
    except load.LoadFailure as failure:
        print(failure, file=sys.stderr)
    return ExitCode.FAILED


def main() -> ExitCode:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.viewers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=whole, default=1024, help="MiB of each transfer (default 1024)")
    parser.add_argument("--rounds", type=whole, default=8, help="transfers without and with viewers (default 8 each)")
    parser.add_argument("--json", type=file_to_write, help="also write the figures to this file")
    parser.add_argument("--view", nargs="+", type=port_of, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.view:
        return watch(options.view)
    warn_if_busy()
    comparison = Comparison(options.size * MIB, options.rounds)
    return measured("bench-viewers", comparison.run, partial(conclude, comparison, options.json))


if __name__ == "__main__":
    program(main)
