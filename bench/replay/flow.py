"""Volumes on their way: a source at the east end of a line, in a process of its own, and sinks at the west end.

The source generates a volume while it sends it, so volumes of any size need no room; the sink hashes what arrives, and
its receipt says whether it is the same. As a program this module is the source: it says when it is ready, waits for a
line on stdin, so that several begin at once, and sends no more after SIGTERM.
"""

import argparse
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from bench.course import Course, Recorder
from bench.datasets import Dataset
from bench.lines import delivered
from bench.processes import Process, next_line, own, talking, until
from bench.replicator import Sink, Transfer, replicate
from bench.sites import Address, SiteFailure
from bench.wan import Wan

WRITE_BYTES = 256 << 10
READY = "ready\n"
PATIENCE_SECONDS = 120.0
"""Seconds in which the first byte has to arrive: a tunnel may be busy with what came before."""
REST_SECONDS = 60.0
"""Seconds in which the bytes under way have to arrive when a flow is given up."""


@dataclass(frozen=True)
class Flow:
    """What came of volumes that were sent at once."""

    transfers: tuple[Transfer | None, ...]
    """In the order of the volumes. Of one that was given up, what had been sent until then; None if that did not all
    arrive."""
    line: Course
    """Bytes that the line delivered toward west, headers included."""
    arrived: Course
    """Bytes that arrived at the sinks."""
    given_up: float | None = None
    """When, on the monotonic clock, the flow was given up before all volumes were sent; what arrived later does not
    count. None if all were sent."""

    @property
    def complaint(self) -> str:
        """What is wrong with the bytes that arrived, or nothing."""
        return next((each.complaint for each in self.transfers if each and each.complaint), "")

    @property
    def samples(self) -> dict[str, list[list[float]]]:
        """For JSON: both courses, from when the first byte arrived."""
        since = self.arrived.began
        return {"line": self.line.since(since), "arrived": self.arrived.since(since)}

    @property
    def finished(self) -> bool:
        """Whether all volumes were sent to their ends."""
        return self.given_up is None

    @property
    def uncompared(self) -> str:
        """Why what arrived was not compared, or nothing."""
        missing = None in self.transfers
        return f"not compared: the rest did not arrive within {REST_SECONDS:.0f} s" if missing else ""


def send(
    wan: Wan,
    volumes: Sequence[Dataset],
    to: Sequence[Address],
    ends: Sequence[Sink],
    most: float | None = None,
    control: str = "",
) -> Flow:
    """Send the volumes at once, each to its address, which leads to one of the sinks `ends`.

    `most`: seconds, from the first byte that arrives, after which volumes that are not finished are given up: no more
    is sent of them, and what was sent is compared. `control`: the sources' congestion control, by default the kernel's.
    Raises SiteFailure if a source fails, or nothing arrives.
    """
    before = sum(end.received for end in ends)
    with (
        Recorder(lambda: delivered(wan)) as line,
        Recorder(lambda: sum(end.received for end in ends) - before) as arrived,
        ExitStack() as stack,
    ):
        with wan.inside("east"):
            sources = [
                stack.enter_context(talking(_source(volume, address, control)))
                for volume, address in zip(volumes, to, strict=True)
            ]
        _let_begin(sources)
        begun = _begun(ends, before, sources)
        given_up = _give_up(sources, begun + most) if most else None
        transfers = tuple(_transfer(source, None if given_up is None else REST_SECONDS) for source in sources)
    return Flow(transfers, line.course, arrived.course, given_up)


def _source(volume: Dataset, to: Address, control: str) -> list[str]:
    return own("bench.replay.flow", json.dumps(asdict(volume)), to[0], str(to[1]), control)


def _begun(ends: Sequence[Sink], before: int, sources: Sequence[Process]) -> float:
    """When the first byte arrived, on the monotonic clock. Raises SiteFailure."""
    if not until(lambda: sum(end.received for end in ends) > before or _all_ended(sources), PATIENCE_SECONDS, 0.01):
        raise SiteFailure(f"nothing of a volume arrived within {PATIENCE_SECONDS:.0f} s")
    return time.monotonic()


def _let_begin(sources: Sequence[Process]) -> None:
    """Have all sources begin at once, when each is ready: one that began earlier would have the line for itself.

    Raises SiteFailure.
    """
    for source in sources:
        if next_line(source) != READY:
            raise SiteFailure(f"the source of a volume ended with status {source.wait()}")
    for source in sources:
        assert source.stdin is not None
        source.stdin.write("\n")
        source.stdin.flush()


def _give_up(sources: Sequence[Process], deadline: float) -> float | None:
    """Have sources that still send at the deadline stop; when that was, or None if all had ended before."""
    if until(lambda: _all_ended(sources), deadline - time.monotonic(), 0.01):
        return None
    for source in sources:
        source.send_signal(signal.SIGTERM)
    return time.monotonic()


def _all_ended(sources: Sequence[Process]) -> bool:
    return all(source.poll() is not None for source in sources)


def _transfer(source: Process, most: float | None) -> Transfer | None:
    """What the source reports; None if it has not ended in so many seconds. Raises SiteFailure if it has failed."""
    try:
        told, _ = source.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        return None
    if source.returncode:
        raise SiteFailure(f"the source of a volume ended with status {source.returncode}")
    return Transfer(**json.loads(told))


def waiting_for(end: threading.Event, buffers: Iterable[bytes]) -> Iterator[bytes]:
    """The buffers, but the first one only after a line on stdin, and no more once the event is set."""
    waiting = iter(buffers)
    first = next(waiting)
    print(READY, end="", flush=True)
    sys.stdin.readline()
    yield first
    for buffer in waiting:
        if end.is_set():
            return
        yield buffer


def main() -> None:
    """Send one volume, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay.flow", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=json.loads, help="fields of a Dataset, as JSON")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("control", nargs="?", default="")
    options = parser.parse_args()
    volume = Dataset(**options.volume)
    end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    buffers = waiting_for(end, volume.writes(WRITE_BYTES))
    transfer = replicate(buffers, (options.host, options.port), control=options.control)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the interpreter forgets a function before it has ended
    print(json.dumps(asdict(transfer)), flush=True)


if __name__ == "__main__":
    main()
