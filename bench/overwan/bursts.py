"""How fast bursts are on a line that loses packets, when little was sent for a while.

BBR forgets the line's rate meanwhile (`proxy.net.steadying`), and takes many round trips to find it again.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from statistics import harmonic_mean

from bench.case_results import Figure
from bench.cases import MIB, Bench
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import MBIT, Setting, far_sink, standing, untrue
from bench.overwan import iperf
from bench.overwan.streams import ENDLESS, pair_on
from bench.processes import until
from bench.replicator import Sink, Transfer, replicate
from bench.sites import Address, SiteFailure
from bench.wan import Wan

SETTING = Setting(loss=1)
BURSTS = 5
"""The first one, with which BBR finds the line's rate, is not measured."""
BURST = 24 * MIB
TRICKLE = 15.0
"""Seconds before each burst but the first."""
PIECE, EVERY = 16 << 10, 0.04
"""What is sent in these seconds: 3.3 Mb/s, in bytes each so many seconds."""
PATIENCE_SECONDS = 120.0


@dataclass
class Source:
    """Sends all bursts by one connection, and times them."""

    sink: Sink
    burst: int
    trickle: float
    rates: list[float] = field(default_factory=list)
    """Bits a second of each burst, until all of it has arrived."""

    def send(self, wan: Wan, to: Address, control: str = "") -> Transfer:
        """All bursts. `control`: the connection's congestion control. Raises SiteFailure if one does not arrive."""
        with wan.inside("east"):
            transfer = replicate(self._buffers(), to, control=control)
        if len(self.rates) < BURSTS:
            raise SiteFailure(f"of {BURSTS} bursts {len(self.rates)} arrived: {transfer.complaint}")
        return transfer

    def _buffers(self) -> Iterator[bytes]:
        """A burst is over when this is asked for more and all has arrived."""
        pieces, sent = Dataset("bursts", ENDLESS).writes(PIECE), 0
        for number in range(BURSTS):
            for piece in islice(pieces, round(self.trickle / EVERY) if number else 0):
                yield piece
                sent += len(piece)
                time.sleep(EVERY)
            self._arrived(sent)
            burst = b"".join(islice(pieces, self.burst // PIECE))
            began = time.monotonic()
            yield burst
            sent += len(burst)
            self._arrived(sent)
            self.rates.append(len(burst) * 8 / (time.monotonic() - began))

    def _arrived(self, sent: int) -> None:
        if not until(lambda: self.sink.received >= sent, PATIENCE_SECONDS):
            raise SiteFailure(f"a burst has not arrived in {PATIENCE_SECONDS:.0f} s")


def bursts(bench: Bench) -> Iterator[Figure]:
    """The same bursts by plain TCP and through a pair."""
    source = partial(Source, burst=bench.bytes(BURST), trickle=bench.seconds(TRICKLE))
    with standing(SETTING) as wan:
        plain = _plain(bench, wan, source) if "bbr" in iperf.offered() else []
        with pair_on(wan, "array") as (pair, sinks):
            bench.tell(f"{SETTING.text}: {BURSTS} bursts through the pair")
            through = source(sinks["array"])
            transfer = through.send(wan, pair.forwards["array"])
        yield judged(through.rates, plain, transfer.verified, untrue(wan, SETTING))


def _plain(bench: Bench, wan: Wan, source: partial[Source]) -> list[float]:
    bench.tell(f"{SETTING.text}: {BURSTS} bursts by plain TCP with BBR")
    with far_sink(wan, wan.addresses["west"]) as sink:
        direct = source(sink)
        direct.send(wan, sink.address, "bbr")
    return direct.rates


def judged(through: list[float], plain: list[float], identical: bool, excuse: str = "") -> Figure:
    """The line of the table. `through`, `plain`: bits a second of each burst, through the pair and by plain TCP."""
    through, plain = through[1:], plain[1:]
    mean = harmonic_mean(through)  # of bursts of the same size: so the mean time counts
    bbr = harmonic_mean(plain) if plain else None
    values = {
        "mean": mean / MBIT,
        "slowest": min(through) / MBIT,
        "bbr": bbr and bbr / MBIT,
        "bbr slowest": min(plain) / MBIT if plain else None,
        "limit": SETTING.goodput / MBIT,
    }
    goals = (Goal("bursts / bbr", 100 * mean / bbr, 100, True, "%"),) if bbr else ()
    return Figure(SETTING.text, f"{len(through)} bursts", values, goals, identical, excuse)
