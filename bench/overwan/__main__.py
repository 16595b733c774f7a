"""`python -m bench.overwan`: see the package."""

from bench.cases import Benchmark, Case
from bench.ending import program
from bench.overwan import iperf
from bench.overwan.alone import alone
from bench.overwan.bursts import bursts
from bench.overwan.compressible import compressible
from bench.overwan.fill import fast, fill
from bench.overwan.outage import outage
from bench.overwan.shares import shares
from bench.overwan.slow_store import slow_store
from bench.overwan.urgency import urgency
from bench.overwan.warm import warm
from bench.wan import Line, WanFailure, line

CASES = {
    "fill": Case("One cold stream of incompressible data, Mb/s (bbr, cubic: iperf3)", fill),
    "fast": Case("Faster lines, likewise, Mb/s (bbr, cubic: iperf3)", fast),
    "compressible": Case("38 % compressible, cold, beside zstd -12 --long and a perfect line", compressible),
    "alone": Case("One of 32 streams goes on while the others rest, Mb/s", alone),
    "bursts": Case("Bursts after seconds in which little was sent, Mb/s (bbr: plain TCP)", bursts),
    "warm": Case("Warm: medians of seven rounds (0 ms: more over the same line without its delay)", warm),
    "slow-store": Case("What both sites hold, the far one on a hard disk in another order, Mb/s", slow_store),
    "outage": Case("An outage in the middle of a transfer", outage),
    "urgency": Case("512 bytes and back during bulk, ms more than bare", urgency),
    "shares": Case("Shares of the line, Mb/s on the wire", shares),
}
"""All cases, in the order in which they are measured."""


def no_line() -> str:
    """Why no line can be emulated here, or nothing: found out by trying."""
    try:
        with line(Line()):
            return ""
    except WanFailure as error:
        return str(error)


BENCHMARK = Benchmark(
    "bench-wan",
    "bench.overwan",
    "What a pair does over slow, long and lossy lines, beside iperf3 on the same lines.",
    CASES,
    lambda: iperf.lacking() or no_line(),
)

if __name__ == "__main__":
    program(BENCHMARK.run)
