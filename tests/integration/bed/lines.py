"""Sites with an emulated line between them: east's site and array at one end of it, west's at the other.

with line_or_skip(rate="45Mbit", delay="50ms", loss="1%") as wan, array_at(wan, "west") as array:
    with pair_over(bed, wan, array.address).running() as pair:
        sent_from_east(wan, pair, content)
        wan.outage(True)

Both ends have a loopback of their own: an address of 127.0.0.1 means the end that it is used at.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from bench.sites import free_port
from bench.wan import Line, Wan, line
from bench.wan.namespaces import lacking, lacking_tun
from tests.integration.bed.contents import cut
from tests.integration.bed.ends import Array, Behaviour, Sending, send
from tests.integration.bed.sites import Bed, Pair
from tests.patience import PATIENCE

WRITE = 64 << 10


@contextlib.contextmanager
def line_or_skip(
    settings: Line | None = None, *, seed: int | None = 1, mtu: int = 1500, backend: str = "tun", **texts: str
) -> Iterator[Wan]:
    """A line of these settings, or with both ways alike from texts; the test is skipped where there can be none.

    Over TUN devices, if not said otherwise, so that tests see the same line everywhere.
    """
    if reason := lacking() or (backend == "tun" and lacking_tun()):
        pytest.skip(reason)
    with line(settings or Line.of(mtu, **texts), seed=seed, backend=backend) as wan:
        yield wan


@contextlib.contextmanager
def array_at(wan: Wan, end: str, behaviour: Behaviour | None = None, **more: Any) -> Iterator[Array]:
    """An array beside the site at that end, on its loopback; arguments as of `Array`."""
    with wan.inside(end):
        array = Array(behaviour, **more)
    with array:
        yield array


def pair_over(bed: Bed, wan: Wan, *arrays: Any, **settings: Any) -> Pair:
    """As `Bed.pair`, with east and west at the ends of the line, and lanes as shipped. Connect within `wan.inside`."""
    settings["tunnel"] = {"lanes": "auto", **settings.get("tunnel", {})}
    pair = bed.pair(*arrays, **({"tunnel_address": (wan.addresses["west"], free_port())} | settings))
    for site in pair.sites:
        site.inside = partial(wan.inside, site.name)
    return pair


def sent_from_east(
    wan: Wan, pair: Pair, content: bytes, pause: Callable[[int], None] | None = None, *, patience: float = PATIENCE
) -> Sending:
    """East's array sends it, in writes of WRITE bytes, and waits for the answer: as `send`. From any thread."""
    with wan.inside("east"):
        return send(cut(content, WRITE), pair.entrance, pause, patience=patience)
