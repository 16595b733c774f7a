"""Volumes on their way: a source at the east end of a line, in a process of its own, and sinks at the west end.

The source generates a volume while it sends it, so no size needs room; the sink hashes what arrives, and the source's
receipt says whether it is the same. As a program it is the source.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import pairwise

from bench.datasets import Dataset
from bench.overwan.course import Course, Recorder
from bench.replicator import Sink, Transfer, replicate
from bench.sites import Address, SiteFailure, environment
from bench.wan import Wan

WRITE_BYTES = 256 << 10
PATIENCE_SECONDS = 120.0
"""For the first byte: the source has to start, and a tunnel may be busy with what came before."""


@dataclass(frozen=True)
class Flow:
    """Volumes that were sent at once."""

    transfers: tuple[Transfer | None, ...]
    """In the order of the volumes; None for one that was not finished in the time that it was given."""
    line: Course
    """Bytes that the line delivered toward west, headers included."""
    arrived: Course
    """Bytes that arrived at the sinks."""

    @property
    def complaint(self) -> str:
        """What is wrong with the bytes that arrived, or nothing."""
        return next((each.complaint for each in self.transfers if each and each.complaint), "")

    @property
    def samples(self) -> dict[str, list[list[float]]]:
        """For JSON: both courses, from when the first byte arrived."""
        since = self.arrived.began
        return {"line": course_samples(self.line, since), "arrived": course_samples(self.arrived, since)}

    @property
    def finished(self) -> bool:
        """All were sent to their ends."""
        return None not in self.transfers


@contextlib.contextmanager
def sinks(wan: Wan, count: int = 1, host: str = "127.0.0.1", window: int = 0) -> Iterator[list[Sink]]:
    """At the west end; arguments as of `Sink`."""
    with ExitStack() as stack:
        with wan.inside("west"):
            found = [stack.enter_context(Sink(host=host, window=window)) for _ in range(count)]
        yield found


def send(
    wan: Wan,
    volumes: Sequence[Dataset],
    to: Sequence[Address],
    ends: Sequence[Sink],
    most: float | None = None,
    control: str = "",
) -> Flow:
    """Send the volumes at once, each to its address, which leads to one of the sinks `ends`.

    `most`: seconds from the first byte that arrives after which what is not finished is given up; `control`: the
    sources' congestion control, by default the kernel's. Raises SiteFailure if a source fails, or nothing arrives.
    """
    before = sum(end.received for end in ends)
    with (
        Recorder(lambda: delivered(wan)) as line,
        Recorder(lambda: sum(end.received for end in ends) - before) as arrived,
        ExitStack() as stack,
    ):
        sources = [stack.enter_context(_source(wan, *each, control)) for each in zip(volumes, to, strict=True)]
        deadline = _begun(ends, before, sources) + most if most else None
        transfers = tuple(_transfer(source, deadline) for source in sources)
    return Flow(transfers, line.course, arrived.course)


def delivered(wan: Wan) -> int:
    """Bytes toward west."""
    return int(wan.stats()["west"]["delivered_bytes"])


def course_samples(course: Course, since: float) -> list[list[float]]:
    """For JSON: seconds since that time of the monotonic clock, and the growth since then."""
    first = course.count(since)
    later = [sample for sample in course.samples if sample.at > since]
    return [[0.0, 0.0], *([round(sample.at - since, 3), sample.so_far - first] for sample in later)]


def rates(samples: Sequence[Sequence[float]], bins: int = 60) -> tuple[list[float], list[float]]:
    """Of such samples: the middles of even spans of time, and the growth a second in each."""
    if len(samples) < 2:
        return [], []
    end = samples[-1][0]
    bins = max(1, min(bins, len(samples) // 2))
    edges = [end * number / bins for number in range(bins + 1)]
    counts = [_count(samples, edge) for edge in edges]
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    width = end / bins
    return middles, [(high - low) / width for low, high in pairwise(counts)]


def _count(samples: Sequence[Sequence[float]], at: float) -> float:
    """Between two samples it grows evenly."""
    for (before, low), (after, high) in pairwise(samples):
        if before <= at <= after:
            return low + (high - low) * (at - before) / (after - before) if after > before else high
    return samples[-1][1]


@contextlib.contextmanager
def _source(wan: Wan, volume: Dataset, to: Address, control: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "bench.replay.flow", json.dumps(asdict(volume)), to[0], str(to[1]), control]
    with wan.inside("east"):
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            start_new_session=True,  # an interrupt from the keyboard is for us; it ends with us
        )
    with started as source:
        try:
            yield source
        finally:
            source.kill()


def _begun(ends: Sequence[Sink], before: int, sources: Sequence["subprocess.Popen[str]"]) -> float:
    """When the first byte arrived, on the monotonic clock. Raises SiteFailure."""
    latest = time.monotonic() + PATIENCE_SECONDS
    while sum(end.received for end in ends) == before and any(source.poll() is None for source in sources):
        if time.monotonic() > latest:
            raise SiteFailure(f"nothing of a volume arrived within {PATIENCE_SECONDS:.0f} s")
        time.sleep(0.01)
    return time.monotonic()


def _transfer(source: "subprocess.Popen[str]", deadline: float | None) -> Transfer | None:
    """None if it has not ended by then. Raises SiteFailure if it has failed."""
    left = max(0.0, deadline - time.monotonic()) if deadline else None
    try:
        told, _ = source.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        return None
    if source.returncode:
        raise SiteFailure(f"the source of a volume ended with status {source.returncode}")
    return Transfer(**json.loads(told))


def main() -> None:
    """Send one volume, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay.flow", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=json.loads, help="fields of a Dataset, as JSON")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("control", nargs="?", default="")
    options = parser.parse_args()
    volume = Dataset(**options.volume)
    to = (options.host, options.port)
    transfer = replicate(volume.writes(WRITE_BYTES), to, control=options.control)
    print(json.dumps(asdict(transfer)), flush=True)


if __name__ == "__main__":
    main()
