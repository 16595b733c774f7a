"""What a line is like: the settings of its two ways, as plain numbers, and how they are written.

    Line.of(rate="45Mbit", delay="50ms", loss="1%")                      # both ways alike
    Line(west=Way.of(rate="155Mbit"), east=Way.of(rate="2Mbit"))         # each its own

"west" is the way toward west, that is, what east sends. `Line` and `Way` are immutable; `changed` makes others.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

from bench.wan.errors import WanFailure, WrongSetting
from proxy.config.units import (
    DURATION,
    RATE,
    SIZE,
    parse_duration,
    parse_rate,
    parse_size,
    show_duration,
    show_rate,
    show_size,
)

WAYS = ("west", "east")
OTHER = {"west": "east", "east": "west"}
SMALLEST_QUEUE = 64 << 10
"""Bytes; a default queue is not shorter, however slow or short the line."""
SMALLEST_QUEUE_PACKETS = 10
SHARE_REMEDY = 'write a percentage from 0% to 100%, such as "0.1%"'


def parse_share(text: str) -> float:
    """A share of 0 to 1, from "0.1%". Raises ValueError."""
    number = text.removesuffix("%")
    if number == text or not number.replace(".", "", 1).isdecimal() or not number.isascii():
        raise ValueError("is not a percentage")
    share = float(number) / 100
    if share > 1:
        raise ValueError("is more than all")
    return share


def parse_packets(text: str) -> float:
    """A mean number of packets, from "3.5". Raises ValueError."""
    if not text.replace(".", "", 1).isdecimal() or not text.isascii():
        raise ValueError("is not a number of packets")
    return float(text)


def parse_mtu(text: str) -> int:
    """Bytes, from "1400" as everybody writes an MTU, or "1400B". Raises ValueError."""
    return int(text) if text.isdecimal() and text.isascii() else parse_size(text)


class Kind(NamedTuple):
    """What a setting of a way can be: how it is read, what to write when it cannot be, its bounds, how it is shown."""

    parse: Callable[[str], float]
    remedy: str
    least: float
    most: float
    show: Callable[[Any], str] = "{:g}".format


KINDS = {
    "rate": Kind(parse_rate, RATE.remedy, 8_000, 10**10, show_rate),
    "delay": Kind(parse_duration, DURATION.remedy, 0, 10, show_duration),
    "jitter": Kind(parse_duration, DURATION.remedy, 0, 10, show_duration),
    "loss": Kind(parse_share, SHARE_REMEDY, 0, 1),
    "burst": Kind(parse_packets, 'write a number of packets, such as "8"', 1, 10_000),
    "reorder": Kind(parse_share, SHARE_REMEDY, 0, 1),
    "duplicate": Kind(parse_share, SHARE_REMEDY, 0, 1),
    "queue": Kind(parse_size, SIZE.remedy, 0, 1 << 30, show_size),
    "path_mtu": Kind(parse_mtu, 'write bytes, such as "1400"', 0, 65_535),
}
"""By name, as `Way` has them."""


@dataclass(frozen=True)
class Way:
    """One way of a line. Raises WrongSetting where a value is out of its bounds."""

    rate: int = 10**9
    """Bits a second, counting whole IP packets: 8 kbit to 10 Gbit."""
    delay: float = 0.0
    """Seconds from one end of the line to the other, up to 10."""
    jitter: float = 0.0
    """Seconds; each packet takes up to that much more, evenly spread. Packets stay in order, so one that is late
    makes those behind it wait."""
    loss: float = 0.0
    """Mean share of the packets that are lost on the line, after the queue: they have used its rate."""
    burst: float = 1.0
    """Mean length of a run of losses, in packets; 1 means independent losses. Up to 10,000."""
    reorder: float = 0.0
    """Share of the packets that do not take the delay and so overtake the others."""
    duplicate: float = 0.0
    """Share of the packets that arrive twice."""
    queue: int = 0
    """Bytes that may wait for the rate; what does not fit is dropped. 0: see `queue_bytes`."""
    path_mtu: int = 0
    """Bytes; longer packets vanish and nobody is told, as where ICMP is filtered. 0: none does."""

    def __post_init__(self) -> None:
        for name, kind in KINDS.items():
            if not kind.least <= getattr(self, name) <= kind.most:
                given, least, most = map(kind.show, (getattr(self, name), kind.least, kind.most))
                raise WrongSetting(name, f"{given} is not from {least} to {most}")
        if 1 > self.loss > self.burst / (self.burst + 1) and self.burst > 1:
            wrong = f"{self.loss:.1%} does not go with runs of {self.burst:g} packets; make burst larger"
            raise WrongSetting("loss", wrong)

    @classmethod
    def of(cls, **texts: str) -> Self:
        """From texts such as `rate="45Mbit"`, as in a site's file. Raises WanFailure."""
        return cls().changed(**texts)

    def changed(self, **texts: str) -> Self:
        """This way with these settings changed, given as texts. Raises WanFailure."""
        parsed: dict[str, Any] = {name: _parse(name, text) for name, text in texts.items()}
        return replace(self, **parsed)

    @property
    def onset(self) -> float:
        """The chance that a run of losses begins after a packet that was not lost."""
        return min(1.0, self.loss / (self.burst * (1 - self.loss))) if self.loss < 1 else 1.0

    def queue_bytes(self, mtu: int) -> int:
        """The length of the queue in bytes; by default what the line carries in a round trip of twice `delay`, but not
        less than the smallest queue."""
        default = max(round(self.rate / 8 * 2 * self.delay), SMALLEST_QUEUE, SMALLEST_QUEUE_PACKETS * mtu)
        return self.queue or default


def _parse(name: str, text: str) -> float:
    if name not in KINDS:
        raise WanFailure(f"a line has no {name}; it has {', '.join(KINDS)}")
    try:
        return KINDS[name].parse(text)
    except ValueError as error:
        raise WrongSetting(name, f"{text!r} {error}; {KINDS[name].remedy}") from None


@dataclass(frozen=True)
class Line:
    """Both ways, and the MTU of the interfaces at its ends."""

    west: Way = field(default_factory=Way)
    """Toward west."""
    east: Way = field(default_factory=Way)
    """Toward east."""
    mtu: int = 1500
    """Bytes, 576 to 65,535."""

    def __post_init__(self) -> None:
        if not 576 <= self.mtu <= 65_535:
            raise WrongSetting("mtu", f"{self.mtu} is not from 576 to 65535")
        for name in WAYS:
            if 0 < self.way(name).queue < self.mtu:
                given = f"{show_size(self.way(name).queue)} toward {name}"
                wrong = f'{given} is shorter than one packet; write at least "{self.mtu}B"'
                raise WrongSetting("queue", wrong)

    @classmethod
    def of(cls, mtu: int = 1500, **texts: str) -> Self:
        """Both ways alike, from texts. Raises WanFailure."""
        way = Way.of(**texts)
        return cls(way, way, mtu)

    def changed(self, toward: str = "both", **texts: str) -> Self:
        """This line with these settings changed, of the way toward west, east or both. Raises WanFailure."""
        return replace(self, **{name: getattr(self, name).changed(**texts) for name in chosen(toward)})

    def way(self, name: str) -> Way:
        """The way toward west or east."""
        return {"west": self.west, "east": self.east}[name]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The line of which `as_dict` gave that data."""
        return cls(Way(**data["west"]), Way(**data["east"]), data["mtu"])


def chosen(toward: str) -> tuple[str, ...]:
    """The names of the ways meant by west, east or both. Raises WanFailure."""
    if toward == "both":
        return WAYS
    if toward not in WAYS:
        raise WanFailure(f"there is no way toward {toward}; write west, east or both")
    return (toward,)
