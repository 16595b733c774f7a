"""The lines of benches, what is possible on them, and whether the emulator has carried them truly."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.machine import KERNEL
from bench.replicator import Sink
from bench.wan import Line, Wan, line
from bench.wan.stats import late, overrun
from bench.wan.truth import MOST_LATE
from proxy.config.units import parse_rate
from proxy.plan import line as plan

MBIT = 10**6
LATE = 0.05
"""Part of the round trip by which packets may be late."""
FULL = 0.97
"""Share of all cores from which on the cores limit, and not the line."""


@dataclass(frozen=True)
class Setting:
    """A line, both ways alike."""

    rate: str = "45Mbit"
    round_trip: int = 100
    """Milliseconds."""
    loss: float = 0.0
    """Percent."""
    mtu: int = 1500
    """Bytes."""

    @property
    def text(self) -> str:
        """For tables."""
        return f"{self.bits // MBIT} Mb/s, {self.round_trip} ms, {self.loss:g} %"

    @property
    def bits(self) -> int:
        """Bits a second, counting whole IP packets."""
        return parse_rate(self.rate)

    @property
    def possible(self) -> plan.Line:
        """The line as `proxy.plan` reckons with it."""
        return plan.Line(self.bits, self.round_trip / 1000, self.loss / 100, self.mtu)

    @property
    def goodput(self) -> float:
        """Bits of payload a second, at best."""
        return self.possible.goodput

    @property
    def texts(self) -> dict[str, str]:
        """The settings as texts for the emulator."""
        return {"rate": self.rate, "delay": f"{self.round_trip / 2:g}ms", "loss": f"{self.loss:g}%"}

    def volume(self, seconds: float) -> int:
        """Bytes that the line carries in that time, in whole MiB."""
        return max(1, round(self.goodput * seconds / 8) >> 20) << 20


@contextmanager
def standing(setting: Setting) -> Iterator[Wan]:
    """The line, with the kernel's buffers at both ends as `isthmus doctor` advises. Raises WanFailure."""
    with line(Line.of(setting.mtu, **setting.texts), seed=1) as wan:
        widen(wan, setting)
        yield wan


def widen(wan: Wan, setting: Setting) -> None:
    """Let TCP's buffers at both ends grow to what is advised, four bandwidth-delay products; larger ones stay."""
    for end in wan.addresses:
        with wan.inside(end):
            for text in plan.sysctl_lines(setting.possible.advised, _limits("tcp_rmem"), _limits("tcp_wmem")):
                name, _, values = text.partition(" = ")
                (KERNEL / name.rpartition(".")[2]).write_text(values)


def _limits(name: str) -> tuple[int, int, int]:
    least, first, most = map(int, (KERNEL / name).read_text().split())
    return least, first, most


def far_sink(wan: Wan, host: str = "127.0.0.1", window: int = 0) -> Sink:
    """A sink at the west end, to be entered; `host` and `window` as of `Sink`."""
    with wan.inside("west"):
        return Sink(host=host, window=window)


def delivered(wan: Wan) -> int:
    """Bytes toward west so far, headers included."""
    return int(wan.stats()["west"]["delivered_bytes"])


def untrue(wan: Wan, setting: Setting) -> str:
    """Why measurements on this line, since it is up, mean nothing; or an empty string.

    One packet in a hundred may be late by a twentieth of the round trip, or by what `bench.wan.truth` allows.
    """
    ways = wan.stats()
    if dropped := overrun(ways):
        return f"the emulator did not take {dropped} packets in time"
    if late(ways) > max(MOST_LATE, LATE * setting.round_trip / 1000):
        return f"the emulator was {late(ways) * 1000:.1f} ms late, or more, with 1 % of the packets"
    return ""


def exhausted(used: float) -> str:
    """Why a missed goal says nothing about the line when that share of all cores was in use; or an empty string."""
    return f"the cores were busy ({used:.0%})" if used >= FULL else ""
