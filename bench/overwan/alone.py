"""Whether one of many streams gets the whole line when the others stay open, but have nothing more to send.

An array keeps its connections. The credit that each of them was granted while it was busy is missing for the one that
goes on, unless it is given back.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType

from bench.case_results import Figure
from bench.cases import Bench
from bench.course import Recorder
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import MBIT, Setting, standing, untrue
from bench.overwan import iperf
from bench.overwan.streams import ENDLESS, Stream, pair_on
from bench.processes import until
from bench.replicator import Sink
from bench.sites import Address, SiteFailure
from bench.wan import Wan

SETTING = Setting("1Gbit")
STREAMS = 32
FIRST = 24 << 20
"""Bytes that each sends while all are busy."""
GATHERED, MEASURED = 6.0, 8.0
"""Seconds in which the one stream may take over what the others do not use, and seconds that are measured then."""
PATIENCE_SECONDS = 300.0
ENOUGH = 90.0
"""Percent of iperf3 with BBR, as on all fast lines."""


class Guest(Stream):
    """A stream that sends its first bytes, and then rests until it is told to go on."""

    def __init__(self, wan: Wan, to: Address, volume: Dataset, first: int) -> None:
        super().__init__(wan, to, volume)
        self._first = first
        self._on = threading.Event()

    def go_on(self) -> None:
        """Have it send the rest."""
        self._on.set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        self._on.set()
        super().__exit__(kind, error, traceback)

    def _buffers(self, volume: Dataset) -> Iterator[bytes]:
        sent = 0
        for buffer in super()._buffers(volume):
            if sent >= self._first:
                self._on.wait()
                if self._end.is_set():
                    return
            yield buffer
            sent += len(buffer)


def alone(bench: Bench) -> Iterator[Figure]:
    """32 streams at once; then one of them, while the connections of the others stay."""
    gathered, measured = bench.seconds(GATHERED), bench.seconds(MEASURED)
    with standing(SETTING) as wan:
        bench.tell(f"{SETTING.text}: iperf3 -C bbr")
        settle = max(1, round(gathered / 2))  # whole seconds, at least one: slow start does not count
        plain = iperf.rate(wan, "bbr", round(measured), settle) if "bbr" in iperf.offered() else None
        with pair_on(wan, "array") as (pair, sinks), ExitStack() as stack:
            first = bench.bytes(FIRST)
            volumes = [Dataset(f"alone {number}", ENDLESS) for number in range(STREAMS)]
            guests = [Guest(wan, pair.forwards["array"], volume, first) for volume in volumes]
            bench.tell(f"{SETTING.text}: {STREAMS} streams, {first >> 20} MiB each")
            began = time.monotonic()
            for guest in guests:
                stack.enter_context(guest)
            if not until(lambda: sinks["array"].received >= STREAMS * first, PATIENCE_SECONDS):
                raise SiteFailure(f"the streams have not arrived in {PATIENCE_SECONDS:.0f} s")
            together = STREAMS * first / (time.monotonic() - began)
            bench.tell(f"{SETTING.text}: one of them goes on")
            one = _goes_on(guests[0], sinks["array"], gathered, measured)
            excuse = untrue(wan, SETTING)
        yield judged(together, one, plain, all(guest.transfer.verified for guest in guests), excuse)


def _goes_on(guest: Guest, sink: Sink, gathered: float, measured: float) -> float:
    """Have the stream go on; its bytes a second in the seconds that are measured."""
    with Recorder(lambda: sink.received) as recorder:
        guest.go_on()
        time.sleep(gathered + measured)
    end = recorder.course.samples[-1].at
    return recorder.course.rate(end - measured, end)


def judged(together: float, one: float, plain: float | None, identical: bool, excuse: str = "") -> Figure:
    """The line of the table. `together`, `one`: bytes a second; `plain`: bits a second of iperf3 with BBR."""
    values = {
        "together": together * 8 / MBIT,
        "one": one * 8 / MBIT,
        "bbr": None if plain is None else plain / MBIT,
        "limit": SETTING.goodput / MBIT,
    }
    goals = () if not plain else (Goal("one of 32 alone / bbr", 100 * one * 8 / plain, ENOUGH, True, "%"),)
    return Figure(SETTING.text, f"1 of {STREAMS}", values, goals, identical, excuse)
