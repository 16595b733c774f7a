"""How long the replication of a volume of changes takes: with the arrays alone, and with Isthmus between them.

The arrays alone send all of it over connections whose window is their own and whose congestion control is taken to be
CUBIC's, which is never slower than Reno's. With Isthmus their connections end nearby, and the line carries what is
left: all that is new (cold), or almost only references to what the far side holds already (warm). `needed` asks the
other way round: which line for so much in so long.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from proxy.plan.congestion import bbr, cubic, cubic_lanes
from proxy.plan.line import Line
from proxy.plan.windows import window_rate

OVERHEAD = 0.003
"""Share that frames and TLS add to data that does not compress (bench/README.md: 100.3 % on the WAN)."""
WARM = 0.0005
"""Share that crosses the line of data that the far side holds (bench/README.md: 0.03 to 0.05 % where it does not repeat
itself)."""
TUNNEL_WINDOW, TUNNEL_MEMORY, TUNNEL_UNACKED = 96 << 20, 192 << 20, 64 << 20
"""Bytes: the defaults of tunnel.window, for each stream, and of tunnel.memory and tunnel.unacked, for all together."""
WIDE = 2
"""Of known data so many times a window may be under way (DECISIONS.md, "Known data has to prove itself")."""
MOST_LANES = 64
"""The most that tunnel.lanes allows."""
ANY_RATE = 1e18
"""Bits a second of a line that holds up nobody."""
SITE_RATE = 2e9
"""Bits a second that one stream gets through two small hosts; `make bench-pipeline` measures it."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be replicated, and by what."""

    volume: int
    """Bytes of changes."""
    reduction: float = 0.0
    """Share of them that deduplication and compression save when they are new to the far side."""
    connections: int = 1
    """Of the array at once: its volumes in progress."""
    site_rate: float = SITE_RATE
    """Bits a second of plain data, at most, by the hosts' own speed."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to replicate."""

    name: str
    rate: float
    """Bits a second of the array's data."""
    seconds: float
    on_line: float
    """Bytes that cross the line."""


def ways(line: Line, work: Work, windows: tuple[int, ...]) -> Iterator[tuple[int | None, Way]]:
    """The arrays alone, once for each of their windows (bytes); then Isthmus (None)."""
    for window in windows:
        yield window, _way("arrays alone", work, array_rate(line, window, work.connections), 1.0)
    new = (1 - work.reduction) * (1 + OVERHEAD)
    lanes = min(cubic_lanes(line), MOST_LANES)
    if lanes > 1:
        over_cubic = site_rate(line, work, cubic(line, lanes), new)
        yield None, _way(f"Isthmus over {lanes} CUBIC lanes, cold", work, over_cubic, new)
    yield None, _way("Isthmus, cold", work, site_rate(line, work, bbr(line), new), new)
    yield None, _way("Isthmus, warm", work, site_rate(line, work, bbr(line), min(new, WARM)), min(new, WARM))


def needed(
    line: Line, work: Work, windows: tuple[int, ...], seconds: float
) -> Iterator[tuple[int | None, Way, float | None]]:
    """For each way its best over a line like this of any rate, and the rate that the line needs for all of the work in
    so many seconds; None where no rate is enough."""
    rate, crossing = work.volume * 8 / seconds, line.rate / line.goodput
    for window, way in ways(replace(line, rate=ANY_RATE), work, windows):
        yield window, way, rate * way.on_line / work.volume * crossing if way.rate >= rate else None


def array_rate(line: Line, window: int, connections: int = 1) -> float:
    """Bits a second that the arrays' own connections get over the line."""
    return min(connections * window_rate(window, line.round_trip), cubic(line, connections))


def site_rate(line: Line, work: Work, line_rate: float, share: float) -> float:
    """Bits a second of the arrays' data, of which that share crosses the line at that rate."""
    under_way = min(work.connections * TUNNEL_WINDOW, TUNNEL_MEMORY)
    window = window_rate(under_way, line.round_trip) / min(1, max(share, 1 / WIDE))
    crossing = min(line_rate, window_rate(TUNNEL_UNACKED, line.round_trip))
    return min(crossing / share if share else work.site_rate, window, work.site_rate)


def _way(name: str, work: Work, rate: float, share: float) -> Way:
    return Way(name, rate, work.volume * 8 / rate, work.volume * share)
