"""The tunnel breaks again and again under an initiator that checks digests: it notices nothing but pauses.

What the sites know of a connection (its login, commands, headers seen before) has to be the same on both sides after an
outage: one PDU lost or told twice, and digests or data would be wrong from there on.
"""

from pathlib import Path

import pytest

from bench.array import IQN, IscsiTarget
from bench.initiator import cdb
from bench.initiator.initiator import Initiator, Task
from bench.initiator.login import Wishes
from bench.sites import free_port
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import same
from tests.integration.bed.sites import look_up
from tests.integration.bed.wire import Wire
from tests.integration.iscsi.stage import ANY_DIGEST, PROTOCOLS, forwarded, skip_without_tools

pytestmark = [pytest.mark.root, pytest.mark.serial]

SIZE = 16 << 20
COMMAND = 128 << 10
DEPTH = 4
CUTS = 5
WISHES = Wishes(IQN, header_digest="CRC32C", data_digest="CRC32C", send=16384, receive=16384)


def test_cut_again_and_again(directory: Path) -> None:
    skip_without_tools()
    door = ("127.0.0.1", free_port())
    with (
        IscsiTarget(directory, [SIZE], parameters=ANY_DIGEST) as target,
        Wire(door) as wire,
        forwarded(directory, target.address, door=door, dialled=wire.address) as (east, _, ways),
    ):
        for protocol in PROTOCOLS:
            content = volume(protocol, SIZE)
            with Initiator(ways[protocol], WISHES) as initiator:
                initiator.ready(1)
                for _ in range(2):  # cold, then warm
                    write_and_read(initiator, content, wire)
                assert initiator.logout() == 0
            same(content, target.units[0].read_bytes())
        assert look_up(east.status(), "peers.0.outages") >= 2
        assert look_up(east.status(), "peers.0.fallbacks") == {}


def write_and_read(initiator: Initiator, content: bytes, wire: Wire) -> None:
    """Some commands at once, of which now and then the answers have to come after an outage."""
    view = memoryview(content)
    under_way: list[Task] = []
    for number, at in enumerate(range(0, SIZE, COMMAND)):
        sector, count = at // cdb.SECTOR, COMMAND // cdb.SECTOR
        under_way.append(initiator.submit(1, cdb.write_long(sector, count), view[at : at + COMMAND]))
        if number % (SIZE // COMMAND // CUTS) == 3:
            wire.cut()
        if len(under_way) == DEPTH:
            initiator.wait(*under_way)
            assert all(task.status == cdb.GOOD for task in under_way)
            under_way.clear()
            found = initiator.command(1, cdb.read_long(sector, count), expect=COMMAND)
            same(view[at : at + COMMAND], found.received)
