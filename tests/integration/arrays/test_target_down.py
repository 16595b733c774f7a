"""A target that refuses, or is not there, is what the initiator sees: its connection is reset at once.

When the target is back, so is the service, without anything being restarted.
"""

import time
from functools import partial

from bench.sites import free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import (
    Array,
    connect,
    full_backlog,
    how_dialling_ends,
    how_it_ends,
    receipt,
    send,
    torn,
    whole,
)
from tests.integration.bed.sites import Bed, ends
from tests.patience import at_best

content = partial(volume, "content", 4 << 20)
AT_ONCE = 5.0
"""Half of what it takes when nobody answers."""


def test_a_refusing_target_resets_and_comes_back(bed: Bed) -> None:
    address = ("127.0.0.1", free_port())
    with bed.pair(address).running() as pair:
        visits: list[float] = []

        def visited() -> float:
            began = time.monotonic()
            torn(b"", how_dialling_ends(pair.entrance))
            visits.append(time.monotonic() - began)
            return visits[-1]

        assert at_best(visited, lambda seconds: seconds < AT_ONCE) < AT_ONCE
        torn(b"", send(cut(content(), 1 << 16), pair.entrance))
        reasons = ends(pair.east)
        assert sum(reasons.values()) == len(visits) + 1
        assert all("cannot connect to" in reason and "unreachable" in reason for reason in reasons)
        with Array(address=address):
            sending = send(cut(content(), 1 << 16), pair.entrance)
            whole(receipt(content()), sending)


def test_a_target_that_does_not_answer(bed: Bed) -> None:
    """Connecting to it hangs: after `connect_timeout` the initiator is reset, others go on."""
    with full_backlog() as silent, bed.pair(silent, tunnel={"connect_timeout": "1s"}).running() as pair:
        with connect(pair.entrance) as near:
            near.sendall(content()[:10_000])
            torn(b"", how_it_ends(near))
        assert any("no answer in time" in reason for reason in ends(pair.east))
