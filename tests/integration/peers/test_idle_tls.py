"""A peer may have TLS say as much as it likes that is no data: updates of keys, or tickets of which nobody makes use.

All of it is taken in one go, whatever the peer's part of a round is: 7 Mbit/s had a hub stand still. So the lane ends
soon, and the peer is not let in for a minute.
"""

from tests.certificates import make
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import Answerer, ScriptedLane, context
from tests.integration.peers.stage import says

TICKETS = 4000


def test_tickets_without_end(bed: Bed) -> None:
    make(bed.directory / "west", "west")
    tls = context(bed.directory / "west", answering=True)
    tls.num_tickets = TICKETS
    with Answerer(tls, talk) as answerer:
        north = bed.site("north", {"west": answerer.address})
        north.start()
        says(north, "west broke the protocol", "bytes of TLS have brought no data")
        says(north, "west", "it is let in again a minute after that")
        tls.num_tickets = 2
        before = answerer.lanes
        north.wait_for(lambda: answerer.lanes > before + 1, "does not dial")
        (peer,) = north.status()["peers"]
        assert (peer["state"], peer["lanes"]) == ("connecting", [])
        assert north.stop() == 0


def talk(lane: ScriptedLane) -> None:
    lane.answer("west")
    lane.ending()
