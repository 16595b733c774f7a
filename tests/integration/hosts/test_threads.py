"""A site at work has no more threads than it makes sure of at its start.

So at a limit of tasks nothing fails later. libuv, for one, ends the process without a word if it cannot start its own.
"""

from pathlib import Path

from bench.sites import Site
from proxy.net.threads import THREADS
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed


def threads_of(site: Site) -> int:
    """Threads of the site's process, beside its first."""
    return len([*Path(f"/proc/{site.pid}/task").iterdir()]) - 1


def test_a_site_at_work_keeps_to_its_threads(bed: Bed) -> None:
    """It has looked a name up, dialled, reached an array, stored chunks and answered."""
    content = volume("content", 4 << 20)
    with Array() as far:
        pair = bed.pair(("localhost", far.address[1]))
        with pair.running():
            whole(receipt(content), send(cut(content, 64 << 10), pair.entrance))
            for site in (pair.east, pair.west):
                assert site.status()
                assert 0 < threads_of(site) <= THREADS
