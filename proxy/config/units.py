"""Sizes, rates and durations as operators write them: "10GiB", "45Mbit", "30s".

In code they are plain numbers: bytes, bits a second, seconds. `parse_*` raise ValueError; the message says what is
wrong, `Unit.remedy` what to write. `show_*` give back the shortest text that parses to the same number.
"""

import re
from fractions import Fraction
from typing import NamedTuple


class Unit(NamedTuple):
    """A kind of quantity: its name with article, its suffixes with their factors, an example, and an upper bound."""

    name: str
    factors: dict[str, Fraction]
    example: str
    largest: int

    @property
    def pattern(self) -> str:
        """A regular expression for the whole text, usable in JSON Schema, too."""
        return rf"^[0-9]{{1,19}}(\.[0-9]{{1,9}})?({'|'.join(self.factors)})$"

    @property
    def remedy(self) -> str:
        """What an operator should write instead."""
        return f'write a number and one of {", ".join(self.factors)}, such as "{self.example}"'

    def parse(self, text: str) -> Fraction:
        """The number in base units, exactly. Raises ValueError."""
        match = re.fullmatch(r"([0-9]{1,19}(?:\.[0-9]{1,9})?)([A-Za-z]+)", text)
        if match is None:
            raise ValueError(f"is not {self.name}")
        number, suffix = match.groups()
        if suffix not in self.factors:
            raise ValueError(f'is not {self.name}: the unit "{suffix}" is unknown')
        quantity = Fraction(number) * self.factors[suffix]
        if quantity > self.largest:
            raise ValueError("is too large")
        return quantity

    def show(self, quantity: Fraction) -> str:
        """The text with the largest unit that leaves a whole number. Raises ValueError if there is none."""
        for suffix, factor in sorted(self.factors.items(), key=lambda item: -item[1]):
            if quantity % factor == 0 and (quantity or factor == 1):
                return f"{quantity // factor}{suffix}"
        raise ValueError(f"{quantity} cannot be written as {self.name}")


def _powers(base: int, suffixes: str) -> dict[str, Fraction]:
    return {suffix: Fraction(base**power) for power, suffix in enumerate(suffixes.split(), start=1)}


SIZE = Unit(
    "a size",
    {"B": Fraction(1)} | _powers(1024, "KiB MiB GiB TiB") | _powers(1000, "kB MB GB TB") | {"KB": Fraction(1000)},
    "10GiB",
    1 << 60,
)
RATE = Unit("a rate", {"bit": Fraction(1)} | _powers(1000, "kbit Mbit Gbit Tbit"), "45Mbit", 10**15)
DURATION = Unit(
    "a duration",
    {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)},
    "30s",
    366 * 86400,
)


def parse_size(text: str) -> int:
    """Bytes, from "256KiB" or "1.5GB". Raises ValueError."""
    return _whole(SIZE.parse(text), "byte")


def parse_rate(text: str) -> int:
    """Bits a second, from "45Mbit". Raises ValueError."""
    return _whole(RATE.parse(text), "bit")


def parse_duration(text: str) -> float:
    """Seconds, from "500ms" or "2m". Raises ValueError."""
    quantity = DURATION.parse(text)
    if (quantity * 1000).denominator != 1:
        raise ValueError("is finer than a millisecond")
    return float(quantity)


def show_size(size: int) -> str:
    """The text that `parse_size` reads as that many bytes."""
    return SIZE.show(Fraction(size))


def show_rate(rate: int) -> str:
    """The text that `parse_rate` reads as that many bits a second."""
    return RATE.show(Fraction(rate))


def show_duration(seconds: float) -> str:
    """The text that `parse_duration` reads as that many seconds, to the millisecond."""
    return DURATION.show(Fraction(round(seconds * 1000), 1000))


def _whole(quantity: Fraction, what: str) -> int:
    if quantity.denominator != 1:
        raise ValueError(f"is not a whole number of {what}s")
    return int(quantity)
