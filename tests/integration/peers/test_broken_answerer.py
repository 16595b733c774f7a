"""A peer that answers well and breaks the protocol each time is not dialled in a tight loop, and nothing piles up."""

import time
from itertools import pairwise

from proxy.protocol.reader import header
from tests.certificates import make
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import Answerer, ScriptedLane, context
from tests.integration.peers.stage import says
from tests.patience import at_best

BOUNDS = [0.125, 0.25, 0.5, 0.5]
"""Seconds: each pause is at least half of what it may be, and that doubles from a quarter of a second to one."""


LATE = 0.05
"""Pauses are between the beginnings of attempts; what is seen here of one may come so much later than of the next."""


def test_pauses_grow_although_lanes_come_up(bed: Bed) -> None:
    make(bed.directory / "west", "west")
    times: list[float] = []

    def grown(pauses: list[float]) -> bool:
        return all(pause >= bound - LATE for pause, bound in zip(pauses, BOUNDS, strict=False))

    def answer(lane: ScriptedLane) -> None:
        times.append(time.monotonic())
        lane.answer("west")
        lane.send(header(0x77, 0, 0, 0))
        lane.ending()

    with Answerer(context(bed.directory / "west", answering=True), answer) as west:
        east = bed.site("east", {"west": west.address})

        def dialled() -> list[float]:
            times.clear()
            east.start()
            says(east, "west broke the protocol", "frame of type 0x77")
            east.wait_for(lambda: len(times) > len(BOUNDS), "dials no more")
            assert east.stop() == 0
            return [later - earlier for earlier, later in pairwise(times)]

        pauses = at_best(dialled, grown)  # this machine may be late in seeing one attempt, and not the next
    assert grown(pauses), pauses
