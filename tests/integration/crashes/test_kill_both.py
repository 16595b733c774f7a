"""Both proxies are killed and start again on their disk stores: the next pass is right, and mostly warm.

What a kill may cost is what the stores had not written: the container that was open, and the latest notes about what
the peer holds, which are written down once a second.
"""

import time

from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, eventually, run, wire_bytes

COST_MAX = 0.3
NOTES = 2.5
"""Seconds after which a site has written down what it knows of its peer."""


def test_cold_restart(bed: Bed) -> None:
    content = volume("content", 48 << 20)
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "128MiB"})
        run(*pair.sites)
        whole(receipt(content), send(cut(content, 1 << 18), pair.entrance))
        for site in pair.sites:
            eventually(site, "store.unwritten_bytes", 0)
        time.sleep(NOTES)

        def strike(number: int) -> None:
            if number == 100:
                for site in pair.sites:
                    site.kill()

        torn(b"", send(cut(content, 1 << 18), pair.entrance, strike))
        torn(content, array.arrival(1).wait())
        run(*pair.sites)
        sending = send(cut(content, 1 << 18), pair.entrance)
        whole(receipt(content), sending)
        assert wire_bytes(pair.east) < COST_MAX * len(content)
