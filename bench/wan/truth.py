"""`isthmus wan test`: is the emulator true on this machine? Lines measured from outside, beside their settings.

First packets: loss, length of runs of losses, delay and rate of trains of UDP packets. Then speed: one TCP connection
on faster and faster lines, to see how long the emulator keeps up.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich import print as show

from bench.machine import congestion_controls
from bench.tables import plain_table
from bench.wan.probe import tcp_rate, train
from bench.wan.settings import Line
from bench.wan.stats import late, overrun
from bench.wan.wan import line
from proxy.errors import ExitCode

LINES: list[dict[str, str]] = [
    {"rate": "45Mbit", "delay": "50ms"},
    {"rate": "45Mbit", "delay": "50ms", "loss": "0.1%"},
    {"rate": "45Mbit", "delay": "50ms", "loss": "1%"},
    {"rate": "45Mbit", "delay": "50ms", "loss": "3%", "burst": "8"},
    {"rate": "2Mbit", "delay": "150ms", "loss": "5%", "burst": "3"},
]
RATES = ["45Mbit", "155Mbit", "300Mbit", "450Mbit", "622Mbit", "800Mbit", "1Gbit"]
SIZE, FULL = 200, 1500
"""Bytes of the packets that measure loss and delay, and of those that measure the rate."""
PACKETS = 10_000
SECONDS_OF_RATE = 3.0
PUSH = 1.2
"""How many times the rate is sent to measure it."""
SETTLE, MEASURE = 3.0, 4.0
"""Seconds for which a TCP connection runs before it is measured, and for which it is measured."""
PAYLOAD = (1500 - 52) / 1500
ENOUGH = 0.97
"""Share of what the rate allows at which the emulator keeps up."""
MOST_LATE = 0.002
"""Seconds; 99 % of the packets must be less late than that."""


@dataclass(frozen=True)
class Measured:
    """A setting and what was found."""

    line: str
    what: str
    setting: float
    found: float
    true: bool


@dataclass(frozen=True)
class Speed:
    """How well the emulator keeps up with a rate."""

    rate: float
    """Bits a second, as set."""
    share: float
    """Share that TCP reaches of what the rate allows."""
    late: float
    """Seconds by which 1 % of the packets were late, or more."""
    overrun: int
    """Packets that the emulator did not take in time."""
    cpu: float
    """Cores that carry packets."""

    @property
    def true(self) -> bool:
        """Whether it keeps up."""
        return self.share >= ENOUGH and self.late <= MOST_LATE and not self.overrun


def run(backend: str, as_json: bool) -> int:
    """Measure and show; returns FAILED if packets do not meet what a line is set to. Raises WanFailure."""
    found = [measured for texts in LINES for measured in packets_on(texts, backend)]
    speeds = [speed_at(rate, backend) for rate in RATES]
    if as_json:
        data = {"packets": [*map(asdict, found)], "speed": [asdict(each) | {"true": each.true} for each in speeds]}
        print(json.dumps(data, indent=2))
    else:
        _show(found, speeds)
    return ExitCode.OK if all(each.true for each in found) else ExitCode.FAILED


def packets_on(
    texts: dict[str, str], backend: str, packets: int = PACKETS, seconds: float = SECONDS_OF_RATE
) -> Iterator[Measured]:
    """What trains of packets meet on a line; each figure is true if chance and a busy machine explain the difference.

    `packets`: of the train that measures loss and delay; `seconds`: how long the rate is measured.
    """
    settings, name = Line.of(1500, **texts), " ".join(texts.values())
    way = settings.west
    with line(settings, seed=1, backend=backend) as wan:
        found = train(wan, packets, SIZE, max(0.0005, 2 * SIZE * 8 / way.rate), way.delay)
    spread = (way.loss * (2 * way.burst - 1) / packets) ** 0.5  # a run's length is geometric: variance burst² - burst
    yield Measured(name, "loss", way.loss, found.loss, abs(found.loss - way.loss) <= 4 * spread)
    if way.burst > 1:
        runs = packets * way.loss / way.burst
        yield Measured(name, "run", way.burst, found.burst, abs(found.burst / way.burst - 1) <= 4 / runs**0.5)
    least = way.delay + SIZE * 8 / way.rate
    yield Measured(name, "delay", least, found.delay, 0 <= found.delay - least <= MOST_LATE)
    with line(Line.of(1500, rate=texts["rate"], delay=texts["delay"]), backend=backend) as wan:
        pause = FULL * 8 / way.rate / PUSH
        rate = train(wan, round(seconds / pause), FULL, pause, way.delay).rate
    yield Measured(name, "rate", way.rate, rate, abs(rate / way.rate - 1) <= 0.02)


def speed_at(rate: str, backend: str) -> Speed:
    """One TCP connection on a line of that rate, 5 ms each way; BBR where the kernel has it."""
    with line(Line.of(rate=rate, delay="5ms"), backend=backend) as wan:
        achieved = tcp_rate(wan, "bbr" if "bbr" in congestion_controls() else "cubic", SETTLE, MEASURE)
        ways = wan.stats()
    bits = Line.of(rate=rate).west.rate
    cpu = sum(way.get("cpu", 0.0) for way in ways.values())
    return Speed(bits, achieved / bits / PAYLOAD, late(ways), overrun(ways), cpu)


def _show(found: list[Measured], speeds: list[Speed]) -> None:
    table = plain_table("Packets", "line", "", "set", "found", "true", figures=("set", "found"))
    for each in found:
        setting, seen = (_text(each.what, value) for value in (each.setting, each.found))
        table.add_row(each.line, each.what, setting, seen, _yes(each.true))
    show(table)
    headings = ("of what TCP can", "late at most, 99 %", "overrun", "cores")
    table = plain_table("\nSpeed", "rate", *headings, "true", figures=("rate", *headings))
    for speed in speeds:
        figures = (f"{speed.share:.1%}", f"{speed.late * 1000:.2f} ms", f"{speed.overrun}", f"{speed.cpu:.2f}")
        table.add_row(_text("rate", speed.rate), *figures, _yes(speed.true))
    show(table)


def _text(what: str, value: float) -> str:
    match what:
        case "loss":
            return f"{value:.2%}"
        case "delay":
            return f"{value * 1000:.2f} ms"
        case "rate":
            return f"{value / 1e6:,.2f} Mb/s"
        case _:
            return f"{value:.2f}"


def _yes(true: bool) -> str:
    return "yes" if true else "no"
