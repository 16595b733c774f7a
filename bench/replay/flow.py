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
    wan: Wan, volumes: Sequence[Dataset], to: Sequence[Address], ends: Sequence[Sink], most: float | None = None
) -> Flow:
    """Send the volumes at once, each to its address, which leads to one of the sinks `ends`.

    `most`: seconds after which what is not finished is given up. Raises SiteFailure if a source fails.
    """
    before = sum(end.received for end in ends)
    deadline = time.monotonic() + most if most else None
    with (
        Recorder(lambda: delivered(wan)) as line,
        Recorder(lambda: sum(end.received for end in ends) - before) as arrived,
        ExitStack() as stack,
    ):
        sources = [stack.enter_context(_source(wan, *each)) for each in zip(volumes, to, strict=True)]
        transfers = tuple(_transfer(source, deadline) for source in sources)
    return Flow(transfers, line.course, arrived.course)


def delivered(wan: Wan) -> int:
    """Bytes toward west."""
    return int(wan.stats()["west"]["delivered_bytes"])


def course_samples(course: Course) -> list[list[float]]:
    """For JSON: seconds since the first sample, and the growth since then."""
    first = course.samples[0]
    return [[round(sample.at - first.at, 3), sample.so_far - first.so_far] for sample in course.samples]


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
def _source(wan: Wan, volume: Dataset, to: Address) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "bench.replay.flow", json.dumps(asdict(volume)), to[0], str(to[1])]
    with wan.inside("east"):
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment()
        )
    with started as source:
        try:
            yield source
        finally:
            source.kill()


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
    options = parser.parse_args()
    volume = Dataset(**options.volume)
    with contextlib.suppress(KeyboardInterrupt):  # it is for whoever has started us
        print(json.dumps(asdict(replicate(volume.writes(WRITE_BYTES), (options.host, options.port)))), flush=True)


if __name__ == "__main__":
    main()
