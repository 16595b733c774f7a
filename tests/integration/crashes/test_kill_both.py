"""Both proxies are killed and start again on their disk stores: the next pass is right, and mostly warm.

What a kill may cost is what the stores had not written: the container that was open, and the latest notes about what
the peer holds, which are written down once a second.
"""

import os
from functools import partial

import lmdb

from bench.sites import Site
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, eventually, run, wire_bytes
from tests.patience import PATIENCE

COST_MAX = 0.3


def test_cold_restart(bed: Bed) -> None:
    content = volume("content", 48 << 20)
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "128MiB"})
        run(*pair.sites)
        whole(receipt(content), send(cut(content, 1 << 18), pair.entrance))
        for site in pair.sites:
            eventually(site, "store.unwritten_bytes", 0)
            site.wait_for(partial(has_noted, site), "has not written down what its peer holds", PATIENCE)

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


def has_noted(site: Site) -> bool:
    """Whether its index says of each chunk that the peer holds it (dedupstore/FORMAT.md, "`index/`")."""
    path = os.fspath(site.config.with_name(f"{site.name}-store") / "index")
    with lmdb.open(path, max_dbs=8, readonly=True) as index, index.begin() as txn:
        chunks = txn.stat(index.open_db(b"chunk", txn, create=False))["entries"]
        bitmaps = txn.cursor(index.open_db(b"belief", txn, create=False)).iternext(keys=False)
        held = sum(int.from_bytes(bits, "little").bit_count() for bits in bitmaps)
        return chunks == held
