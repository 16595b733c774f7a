"""The far array stops reading until the near array's writes have stalled for a minute; memory stays flat.

Nothing is lost, of plain bytes or of an initiator's, and both sites answer all the while: when it reads on, everything
arrives. What may pile up is the tunnel's window and the buffers of the kernel; the volume is many times larger.
"""

import threading
import time

import pytest

from bench.overiscsi.conversation import Conversation
from bench.sites import Site
from tests.integration.bed.answering import answering
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, Arrival, acknowledge, receipt, send, whole
from tests.integration.bed.sites import Bed, drain, resident, run
from tests.patience import PATIENCE

SIZE = 160 << 20
STILL_AFTER = 16 << 20
MINUTE, A_WHILE = 60.0, 5.0
GROWTH_MAX = 40 << 20
"""Window (8 MiB), what waits in sockets and allocators; the volume is four times that."""


@pytest.mark.patient
@pytest.mark.parametrize(("initiator", "still"), [(False, MINUTE), (True, A_WHILE)], ids=["plain bytes", "iSCSI"])
def test_back_pressure_reaches_the_near_array(bed: Bed, initiator: bool, still: float) -> None:
    content = volume("content", SIZE)
    if initiator:
        content = b"".join(Conversation().ahead(memoryview(content)))
    standing, read_on = threading.Event(), threading.Event()

    def stand_still(arrival: Arrival) -> None:
        while len(arrival.data) < STILL_AFTER:
            arrival.data += arrival.connection.recv(1 << 18)
        standing.set()
        read_on.wait(MINUTE + PATIENCE)
        acknowledge(arrival)

    settings = {"window": "8MiB", "memory": "16MiB", "unacked": "8MiB"}
    with Array(stand_still) as array:
        pair = bed.pair(array.address, tunnel=settings, store={"size": "64MiB"})
        run(*pair.sites)
        for site in pair.sites:
            site.wait_prepared(PATIENCE)
        watch = Watch(pair.sites, still, standing, read_on)
        watch.start()
        with answering(*pair.sites):
            sending = send(cut(content, 1 << 18), pair.entrance, watch.written)
        watch.join()
        whole(receipt(content), sending)
        whole(content, array.arrival().wait())
        assert sending.stalled > still * 0.7
        assert watch.growth < GROWTH_MAX
        drain(*pair.sites)


class Watch(threading.Thread):
    """Lets the array stand still until writes have stalled for a while; how much the sites grow meanwhile."""

    def __init__(
        self, sites: tuple[Site, ...], still: float, standing: threading.Event, read_on: threading.Event
    ) -> None:
        super().__init__(daemon=True)
        self.growth = 0
        self._writes = 0
        self._sites = sites
        self._still = still
        self._standing = standing
        self._read_on = read_on

    def written(self, number: int) -> None:
        """The near array's TCP has taken one write more."""
        self._writes = number

    def run(self) -> None:
        self._standing.wait(PATIENCE)
        before = [resident(site) for site in self._sites]
        writes, since = -1, time.monotonic()
        while time.monotonic() < since + self._still:
            if writes != self._writes:
                writes, since = self._writes, time.monotonic()
            time.sleep(0.1)
            now = [resident(site) for site in self._sites]
            self.growth = max(self.growth, *(b - a for a, b in zip(before, now, strict=True)))
        self._read_on.set()
