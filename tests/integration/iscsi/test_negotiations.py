"""Whatever initiator and target agree on, data goes there and comes back through the pair, with digests checked.

Our own initiator, since libiscsi has no data digests and qemu-img chooses sizes itself. Every login is seen to have led
to what was asked for: a target that quietly agrees to no digest would make these tests worthless.
"""

import pytest

from bench.initiator import cdb
from bench.initiator.pdu import Digests
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import same
from tests.integration.iscsi.stage import Stage

pytestmark = [pytest.mark.root, pytest.mark.serial]

SECTORS = (1, 9, 700)
"""Of commands: less than a PDU, more than the smallest ones, more than a burst."""
DIGESTS = [("None", "None"), ("CRC32C", "None"), ("None", "CRC32C"), ("CRC32C", "CRC32C")]
SIZES = [(512, 512), (4096, 262144), (1001, 65536), (262144, 1004)]
"""Most bytes of data in a PDU to the target, and from it. 1001 makes padding; from it tgt 1.0.85 writes the padding
over the data that follows, so that even directly not every byte comes back."""


@pytest.mark.parametrize(("header", "data"), DIGESTS, ids=["no digests", "header digests", "data digests", "both"])
@pytest.mark.parametrize(("send", "receive"), SIZES, ids=str)
def test_digests_and_sizes(stage: Stage, protocol: str, header: str, data: str, send: int, receive: int) -> None:
    wishes = {"header_digest": header, "data_digest": data, "send": send, "receive": receive}
    exercise(stage, protocol, f"{header} {data} {send} {receive}", **wishes)


@pytest.mark.parametrize("initial_r2t", [True, False], ids=["asked for", "unasked"])
@pytest.mark.parametrize("immediate", [True, False], ids=["immediate", "separate"])
@pytest.mark.parametrize("first_burst", [2048, 65536])
def test_when_data_goes(stage: Stage, protocol: str, initial_r2t: bool, immediate: bool, first_burst: int) -> None:
    """With a command, unasked after it, or when an R2T asks for it."""
    wishes = {"initial_r2t": initial_r2t, "immediate": immediate, "first_burst": first_burst, "send": 8192}
    exercise(stage, protocol, str(wishes), **wishes)


def test_commands_that_overlap(stage: Stage, protocol: str) -> None:
    """Many at once, whose data and answers mix as the target likes; reads and writes with CDBs of every length."""
    content = memoryview(volume("overlap", 128 * 8192))
    makers = [(cdb.write_short, cdb.read_short), (cdb.write, cdb.read), (cdb.write_long, cdb.read_long)]
    with stage.initiator(protocol, header_digest="CRC32C", data_digest="CRC32C", receive=4096) as initiator:
        initiator.ready(1)
        pieces = [(number * 16, content[number * 8192 :][:8192], makers[number % 3]) for number in range(128)]
        initiator.wait(*(initiator.submit(1, write(at, 16), piece) for at, piece, (write, _) in pieces))
        tasks = [initiator.submit(1, read(at, 16), expect=8192) for at, _, (_, read) in pieces]
        initiator.wait(*tasks)
        same(content, b"".join(task.received for task in tasks))
        assert initiator.logout() == 0


def test_it_is_understood(stage: Stage) -> None:
    """Not carried as plain bytes: both sites count PDUs, digests that need not cross the WAN, and nothing odd."""
    before = [site.status()["bytes"] for site in (stage.east, stage.west)]
    exercise(stage, "iscsi", "understood", header_digest="CRC32C", data_digest="CRC32C", send=8192)
    for site, then in zip((stage.east, stage.west), before, strict=True):
        now = site.status()["bytes"]
        assert now["pdus"] > then["pdus"] + 700 * cdb.SECTOR // 8192
        assert now["digests_computed"] > then["digests_computed"] + 20
        assert now["digests_wrong"] == then["digests_wrong"]
        assert site.status()["peers"][0]["fallbacks"] == {}


def exercise(stage: Stage, protocol: str, name: str, **wishes: object) -> None:
    """Log in, see what was agreed on, write, read back, ask other things, log out."""
    with stage.initiator(protocol, **wishes) as initiator:
        agreed = initiator.agreed
        asked = initiator.wishes
        assert agreed.digests == Digests(asked.header_digest == "CRC32C", asked.data_digest == "CRC32C")
        assert (agreed.initial_r2t, agreed.immediate) == (asked.initial_r2t, asked.immediate)
        assert agreed.first_burst == asked.first_burst
        initiator.ready(1)
        for count in SECTORS:
            content = volume(f"{name} {count}", count * cdb.SECTOR)
            assert initiator.command(1, cdb.write(count, count), content).status == cdb.GOOD
            found = initiator.command(1, cdb.read(count, count), expect=len(content))
            assert found.status == cdb.GOOD
            same(content, found.received)
            with stage.target.units[0].open("rb") as unit:
                unit.seek(count * cdb.SECTOR)
                same(content, unit.read(len(content)))
        assert initiator.command(1, cdb.inquiry(), expect=96).received[8:11] == b"IET"
        assert len(initiator.command(1, cdb.read_capacity(), expect=8).received) == 8
        assert initiator.ping(b"odd in length") == b"odd in length"
        assert initiator.logout() == 0
