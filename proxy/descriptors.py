"""File descriptors, of which the kernel allows a process so many (a shell often only 1,024), and who may have how many.

If arrays' connections took all, a tunnel that has lost its lanes would never get another: the streams that wait for one
hold what it would need. Nor may visitors and strangers, who come in any number, have all that arrays leave.
"""

import resource
import sys
from contextlib import suppress

SPARED = 448
"""Descriptors that arrays' connections leave to others: 256 connections that wait before the door, 128 visitors, and 64
for lanes and files."""
_FEW = 4 * SPARED
"""Where fewer than that are allowed altogether, all these numbers are less in proportion (`scaled`)."""


def use_all_descriptors() -> None:
    """Raise the soft limit to the hard one. Where that is forbidden the site goes on (`isthmus doctor` tells)."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def scaled(number: int) -> int:
    """How many connections there may be of a kind of which there may be `number` where descriptors are plenty."""
    return number * min(_limit(), _FEW) // _FEW


def is_spared(descriptor: int) -> bool:
    """True if an array's connection must not have that descriptor: the highest are left to others. (The kernel gives
    the lowest that is free.)"""
    return descriptor >= _limit() - scaled(SPARED)


def _limit() -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
