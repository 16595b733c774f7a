"""Days and times of day as operators write them, and whether a moment lies between two of them.

`Days` is a set of weekdays, 0 for Monday; `Clock` is minutes since midnight. A moment is local wall-clock time: when
clocks are set forward, what begins in the missing hour begins at its end; when they are set back, an hour counts twice.
"""

import re
from datetime import datetime
from typing import Annotated, NamedTuple

from proxy.config.validators import reader, shape

NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY = 24 * 60
WEEK = 7 * DAY
"""Minutes."""

_SPAN = rf"({'|'.join(NAMES)})(-({'|'.join(NAMES)}))?"
DAYS_PATTERN = rf"^{_SPAN}(,{_SPAN})*$"
DAYS_REMEDY = 'write days of mon, tue, wed, thu, fri, sat, sun, such as "mon-fri" or "mon,wed,sat-sun"'
CLOCK_PATTERN = r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$"
CLOCK_REMEDY = 'write hours and minutes, two digits each, from "00:00" to "24:00"'


def parse_days(text: str) -> frozenset[int]:
    """Weekdays, from "mon-fri", "sat" or "mon,fri-sun"; a span may pass Sunday. Raises ValueError."""
    if re.fullmatch(DAYS_PATTERN.strip("^$"), text) is None:
        raise ValueError("is not a list of days")
    found: set[int] = set()
    for span in text.split(","):
        first, _, last = span.partition("-")
        begin = NAMES.index(first)
        count = (NAMES.index(last or first) - begin) % 7 + 1
        found |= {(begin + step) % 7 for step in range(count)}
    return frozenset(found)


def parse_clock(text: str) -> int:
    """Minutes since midnight, from "08:00"; "24:00" is the day's end. Raises ValueError."""
    if re.fullmatch(CLOCK_PATTERN, text) is None:
        raise ValueError("is not a time of day")
    hours, minutes = text.split(":")
    return 60 * int(hours) + int(minutes)


Days = Annotated[frozenset[int], reader(parse_days, DAYS_REMEDY), shape("days", DAYS_PATTERN)]
Clock = Annotated[int, reader(parse_clock, CLOCK_REMEDY), shape("time of day", CLOCK_PATTERN)]


class Span(NamedTuple):
    """From `begin` to before `end`, on the next day if that is earlier."""

    days: frozenset[int]
    """Weekdays on which it begins."""
    begin: int
    """Minutes since midnight."""
    end: int

    @property
    def length(self) -> int:
        """In minutes."""
        return (self.end - self.begin) % DAY or DAY

    def covers(self, when: datetime) -> bool:
        """True if that local time lies in it."""
        since_begin = when.hour * 60 + when.minute - self.begin
        day = when.weekday() if since_begin >= 0 else (when.weekday() - 1) % 7
        return day in self.days and since_begin % DAY < self.length

    def minutes(self) -> frozenset[int]:
        """The minutes of the week, from Monday's midnight on, that lie in it."""
        starts = (day * DAY + self.begin for day in self.days)
        return frozenset((start + minute) % WEEK for start in starts for minute in range(self.length))
