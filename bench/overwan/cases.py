"""The cases of `make bench-wan`, in the order in which they are measured."""

from bench.overwan.alone import alone
from bench.overwan.compressible import compressible
from bench.overwan.fill import fast, fill
from bench.overwan.outage import outage
from bench.overwan.shares import shares
from bench.overwan.slow_store import slow_store
from bench.overwan.urgency import urgency
from bench.overwan.warm import warm
from bench.suite import Case

CASES = {
    "fill": Case("One cold stream of incompressible data, Mb/s (bbr, cubic: iperf3)", fill),
    "fast": Case("Faster lines, likewise, Mb/s (bbr, cubic: iperf3)", fast),
    "compressible": Case("38 % compressible, cold, beside zstd -12 --long and a perfect line", compressible),
    "alone": Case("One of 32 streams goes on while the others rest, Mb/s", alone),
    "warm": Case("Warm: medians of seven rounds", warm),
    "slow-store": Case("What both sites hold, the far one on a hard disk in another order, Mb/s", slow_store),
    "outage": Case("An outage in the middle of a transfer", outage),
    "urgency": Case("512 bytes and back during bulk, ms more than bare", urgency),
    "shares": Case("Shares of the line, Mb/s on the wire", shares),
}
