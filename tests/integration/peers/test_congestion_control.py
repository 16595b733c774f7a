"""A congestion control that the kernel does not have: the tunnel works with what it has, and an alarm says so."""

from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed, alarm


def test_one_that_there_is_not(bed: Bed) -> None:
    with Array() as array, bed.pair(array.address, tunnel={"congestion_control": "nothing"}).running() as pair:
        sending = send([b"as ever"], pair.entrance)
        whole(receipt(b"as ever"), sending)
        for site in pair.sites:
            alarm(site, "where tunnel.congestion_control asks for nothing")
            alarm(site, 'or write "auto"; then `isthmus reload`')


def test_one_that_there_is(bed: Bed) -> None:
    with Array() as array, bed.pair(array.address, tunnel={"congestion_control": "cubic"}).running() as pair:
        assert pair.east.status()["alarms"] == []
