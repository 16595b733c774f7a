"""Two tunnels over a network that delays, splits, loses and kills, while streams run both ways.

Whatever happens, what an array receives is a prefix of what the other sent, ends only where that ended, and memory
stays bounded (both checked in `sites` at every step). When the network heals, everything comes to its end, and both
tunnels have forgotten it all. A failing seed is repeated with ISTHMUS_SEEDS=FIRST:LAST.
"""

from functools import partial

import pytest

from tests.simulation.simulated import GROUPS, for_seeds, simulate
from tests.simulation.sites import Site


@pytest.mark.timeout(0)
@pytest.mark.parametrize("group", range(GROUPS))
def test_everything_arrives_or_is_reset(group: int) -> None:
    for_seeds(group, partial(simulate, Site))
