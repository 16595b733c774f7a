"""What `isthmus doctor` says: findings, each with a level and, unless it is fine, the exact remedy."""

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How bad it is."""

    OK = "ok"
    ATTENTION = "attention"
    """Works, but slower, less safely or not for long; or it could not be looked at."""
    PROBLEM = "problem"
    """Does not work, or will not."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    about: str
    """What: "socket buffers", "peer west"."""
    level: Level
    found: str
    remedy: str = ""
    """What to do, to be typed where it can be; empty if nothing is to be done."""


def ok(about: str, found: str) -> Finding:
    """As it should be."""
    return Finding(about, Level.OK, found)


def attention(about: str, found: str, remedy: str) -> Finding:
    """Works, but."""
    return Finding(about, Level.ATTENTION, found, remedy)


def problem(about: str, found: str, remedy: str) -> Finding:
    """Does not work, or will not."""
    return Finding(about, Level.PROBLEM, found, remedy)
