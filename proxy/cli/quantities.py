"""Quantities given as options: text with a unit, as in a site's file. A wrong one raises an error naming the option."""

import re
from collections.abc import Callable
from datetime import time
from fractions import Fraction
from typing import TypeVar

from proxy.config.units import DURATION, RATE, SIZE, Unit, parse_rate
from proxy.errors import ExitCode, OperatorError
from proxy.plan.line import KM_PER_MILE

DISTANCE = Unit("a distance", {"km": Fraction(1), "mi": Fraction(str(KM_PER_MILE))}, "6000km", 40_000)
"""Kilometres, at most round the earth."""
SHARE_REMEDY = 'write percent, such as "1%" or "0.1%"'
SIZE_RATE = SIZE._replace(name="bytes a second", example="40MB/s")
TIME_REMEDY = 'write hours and minutes, such as "22:30"'

_T = TypeVar("_T")


def rate(option: str, text: str) -> int:
    """Bits a second, not zero. Raises OperatorError (USAGE), as all here do."""
    return _above_zero(option, text, parse_rate, RATE)


def size(option: str, text: str) -> int:
    """Bytes, not zero. A part of a byte is rounded: nobody means more by "2.18GiB"."""
    return _above_zero(option, text, lambda given: round(SIZE.parse(given)), SIZE)


def size_rate(option: str, text: str) -> int:
    """Bytes a second, not zero, from "40MB/s" or "40MB"."""
    return _above_zero(option, text, lambda given: round(SIZE_RATE.parse(given.removesuffix("/s"))), SIZE_RATE)


def duration(option: str, text: str) -> float:
    """Seconds, not zero. As fine as ping tells it, unlike in a site's file: "0.42ms"."""
    return _above_zero(option, text, lambda given: float(DURATION.parse(given)), DURATION)


def distance(option: str, text: str) -> float:
    """Kilometres, not zero."""
    return _above_zero(option, text, lambda given: float(DISTANCE.parse(given)), DISTANCE)


def share(option: str, text: str, most: float = 1.0) -> float:
    """0 to `most`, from percent."""

    def parse(given: str) -> float:
        match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)%", given)
        if match is None:
            raise ValueError("is not a percentage")
        if float(match[1]) > most * 100:
            raise ValueError(f"is more than {most:.0%}")
        return float(match[1]) / 100

    return _read(option, text, parse, SHARE_REMEDY)


def time_of_day(option: str, text: str) -> time:
    """Hours and minutes."""

    def parse(given: str) -> time:
        match = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", given)
        if match is None:
            raise ValueError("is not a time of day")
        return time(int(match[1]), int(match[2]))

    return _read(option, text, parse, TIME_REMEDY)


def _above_zero(option: str, text: str, parse: Callable[[str], _T], unit: Unit) -> _T:
    quantity = _read(option, text, parse, unit.remedy)
    if not quantity:
        raise OperatorError(f"{option} {text!r} is nothing; {unit.remedy}", ExitCode.USAGE)
    return quantity


def _read(option: str, text: str, parse: Callable[[str], _T], remedy: str) -> _T:
    try:
        return parse(text)
    except ValueError as error:
        raise OperatorError(f"{option} {text!r} {error}; {remedy}", ExitCode.USAGE) from None
