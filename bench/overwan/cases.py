"""The cases of `make bench-wan`, in the order in which they are measured."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench.overwan.bench import Bench
from bench.overwan.fill import fast, fill
from bench.overwan.results import Figure


class Case(NamedTuple):
    """What is measured, and the title of its table."""

    title: str
    measure: Callable[[Bench], Iterator[Figure]]


CASES = {
    "fill": Case("One cold stream of incompressible data, Mb/s (bbr, cubic: iperf3)", fill),
    "fast": Case("Faster lines, likewise, Mb/s (bbr, cubic: iperf3)", fast),
}
