"""Warning IST-501 where the peer lacks what it should hold: what repeats goes literally then, so nobody knows."""

from dataclasses import replace

from tests.unit.observe.snapshots import changed
from tests.unit.observe.test_watch import Site, moving


def test_nothing_is_said_of_the_data_while_references_to_the_peer_are_suspended_or_were_of_late() -> None:
    site, said = Site(), set[int]()
    for second in range(1, 650):
        moved = moving(10 * second, 1.001)
        moved = changed(peers=[replace(each, references_suspended=second == 30) for each in moved.peers])
        site.pass_(moved)
        if "IST-501" in [caution.code for caution in site.watch.cautions]:
            said.add(second)
    assert said == {*range(7, 30), *range(630, 650)}
