"""From the configuration to the tunnel: a stream's share, the rate that holds now, what lanes cost beyond frames."""

from datetime import datetime
from typing import cast

import pytest

from proxy.net.lane import Lane
from proxy.net.shares import Shares
from proxy.net.tcpinfo import TcpInfo
from proxy.protocol.share import Priority
from tests.time_zones import time_zone
from tests.unit.config.contract import EAST, site_of
from tests.unit.config.texts import NORTH
from tests.unit.net.lanes import FakeLane
from tests.unit.protocol.line import MBIT, Line

CONFIG = (
    EAST.replace(
        'certificate = "west.crt"\n',
        'certificate = "west.crt"\nrate = "20Mbit"\n'
        '[[peer.schedule]]\nfrom = "08:00"\nto = "18:00"\nrate = "10Mbit"\n' + NORTH,
    )
    + 'priority = "high"\nguarantee = "4Mbit"\nmaximum = "8Mbit"\nburst = "64KiB"\ndscp = "af21"\n'
    + '[[forward]]\nname = "other"\nlisten = "127.0.0.1:3261"\npeer = "north"\nexport = "array"\n'
    + '[[export]]\nname = "replication"\naddress = "10.0.0.1:3260"\npeers = ["west", "north"]\n'
)


class Bench:
    """The shares of the peer west, a line of 1 Gb/s, and a wall clock that a test sets."""

    def __init__(self, config: str = CONFIG) -> None:
        self.time = datetime(2026, 3, 23, 7, 59)
        self.line = Line(1000 * MBIT)
        self.site = site_of(config)
        self.shares = Shares(self.line.tunnel, self.site, self.site.peers[0], 0.0, lambda: self.time)

    def change(self, config: str) -> None:
        site = site_of(config)
        self.shares.change(site, site.peers[0], self.line.now)

    def sample(self, *infos: TcpInfo) -> None:
        self.shares.sample(cast(list[Lane], [FakeLane(info=info) for info in infos]), self.line.now)


def test_a_forwards_share_is_what_its_keys_say() -> None:
    share = Bench().shares.of_forward("replication")
    assert (share.priority, share.mark, share.burst) == (Priority.HIGH, 18, 65536)
    assert (share.guarantee, share.maximum) == (4 * MBIT, 8 * MBIT)


def test_a_forward_and_an_export_of_one_name_have_a_share_each() -> None:
    shares = Bench().shares
    assert shares.of_export("replication").maximum is None
    assert [status.name for status in shares.status({})] == ["forward replication", "export replication"]


def test_the_timetable_sets_the_rate_as_soon_as_it_is_time() -> None:
    bench = Bench()
    assert bench.shares.rate == 20_000_000
    bench.line.open()
    bench.line.run(2)
    assert bench.line.rates() == pytest.approx(20 * MBIT, rel=0.05)
    bench.time = bench.time.replace(hour=8, minute=0)
    bench.sample()
    assert bench.shares.rate == 10_000_000
    bench.line.run(2)
    assert bench.line.rates(since=2.0) == pytest.approx(10 * MBIT, rel=0.05)


def test_what_the_kernel_sends_beyond_frames_is_charged_once() -> None:
    bench = Bench()
    bench.line.open()
    bench.line.run(2)
    before = bench.line.total()
    info = TcpInfo(bytes_retransmitted=1_000_000, empty_packets=10_000)
    bench.sample(info)
    bench.sample(info)
    bench.line.run(2)
    assert bench.line.total() - before == pytest.approx(2 * 20 * MBIT - 1_036_000 - 520_000, rel=0.05)


def test_the_status_says_what_was_granted_and_how_it_fares() -> None:
    bench = Bench()
    bench.line.open(bench.shares.of_forward("replication"))
    for _ in range(6):
        bench.sample()
        bench.line.run(1)
    bench.sample()
    forward, export = bench.shares.status({})
    assert (forward.priority, forward.dscp) == ("high", 18)
    assert (forward.guarantee_bits_per_second, forward.maximum_bits_per_second) == (4_000_000, 8_000_000)
    assert forward.bits_per_second == pytest.approx(8_000_000, rel=0.05)
    assert forward.wire_bytes == pytest.approx(6 * 8 * MBIT, rel=0.05)
    assert forward.held_seconds > 5
    assert bench.shares.held_seconds == 0.0, "not by the peer's rate"
    assert (export.wire_bytes, export.held_seconds, export.maximum_bits_per_second) == (0, 0.0, None)


def test_what_was_sent_again_is_charged_to_the_maximum_of_who_sent_and_acknowledgements_are_not() -> None:
    bench = Bench()
    bench.line.open(bench.shares.of_forward("replication"))
    bench.line.run(2)
    bench.sample(TcpInfo(bytes_retransmitted=1_000_000, empty_packets=10_000))
    before = bench.line.total()
    bench.line.run(2)
    assert bench.line.total() - before == pytest.approx(2 * 8 * MBIT - 1_036_000, rel=0.05)


def test_what_others_sent_again_is_not() -> None:
    bench = Bench()
    bench.line.open(bench.shares.of_export("replication"))
    bench.line.run(2)
    bench.line.open(bench.shares.of_forward("replication"))
    bench.sample(TcpInfo(bytes_retransmitted=200_000))
    bench.line.run(2)
    forward, _ = bench.shares.status({})
    assert forward.wire_bytes == pytest.approx(2 * 8 * MBIT, rel=0.1)


@pytest.mark.parametrize("zone", ["UTC", "XXX-24", "XXX+24:59:59"])
def test_whatever_zone_the_host_is_in_some_rate_holds(zone: str) -> None:
    with time_zone(zone):
        shares = Shares(Line(1000 * MBIT).tunnel, Bench().site, Bench().site.peers[0], 0.0)
    assert shares.rate in (10_000_000, 20_000_000)


def looked_at(bench: Bench, seconds: int = 12) -> None:
    """So long it sends, and is sampled once a second."""
    for _ in range(seconds):
        bench.line.run(1)
        bench.sample()


def test_what_holds_back_is_named_not_what_might() -> None:
    """A maximum far below the peer's rate, of which nobody comes near: the words sent operators to raise the rate."""
    bench = Bench()
    bench.line.open(bench.shares.of_forward("replication"))
    looked_at(bench)
    assert bench.shares.cap_of("forward replication") == "the maximum of forward replication, 8Mbit,"
    assert bench.shares.cap == "the maximum of forward replication, 8Mbit,"
    forward, _ = bench.shares.status({})
    assert forward.held_by_maximum_seconds == pytest.approx(forward.held_seconds)


def test_a_rate_that_others_use_up_is_what_holds_back_although_a_maximum_is_lower() -> None:
    bench = Bench(CONFIG.replace('priority = "high"\nguarantee = "4Mbit"\n', 'priority = "low"\n'))
    bench.time = bench.time.replace(hour=9)
    bench.line.open(bench.shares.of_export("replication"))
    bench.line.open(bench.shares.of_forward("replication"))
    looked_at(bench)
    assert bench.shares.cap_of("forward replication") == "the rate of peer west, 10Mbit,"
    assert bench.shares.cap == "the rate of peer west, 10Mbit,"
    forward, export = bench.shares.status({})
    assert forward.held_by_maximum_seconds < forward.held_seconds / 2
    assert export.held_by_maximum_seconds == 0.0


def test_before_anything_was_held_back_the_lower_one_may_do_so() -> None:
    shares = Bench().shares
    assert shares.cap_of("forward replication") == "the maximum of forward replication, 8Mbit,"
    assert shares.cap_of("export replication") == shares.cap == "the rate of peer west, 20Mbit,"


def test_other_rules_hold_from_now_on_for_streams_that_live() -> None:
    bench = Bench()
    west = bench.shares.of_forward("replication")
    stream = bench.line.open(west)
    bench.line.run(5)
    sent = bench.line.total(stream)
    changed = CONFIG.replace('maximum = "8Mbit"', 'maximum = "6Mbit"').replace('rate = "20Mbit"', 'rate = "30Mbit"')
    bench.change(changed)
    assert bench.shares.rate == 30_000_000
    bench.line.run(13)
    assert bench.line.rates(stream, since=5.0) == pytest.approx(6 * MBIT, rel=0.05)
    (forward, _) = bench.shares.status({})
    assert forward.maximum_bits_per_second == 6_000_000
    assert forward.wire_bytes > sent, "what was sent before counts as well"


def test_what_is_gone_is_no_longer_accounted_for() -> None:
    bench = Bench()
    bench.change(EAST + '[[export]]\nname = "new"\naddress = "10.0.0.1:3260"\npeers = ["west"]\nmaximum = "1Mbit"\n')
    assert [share.name for share in bench.line.tunnel.scheduler.accounts] == ["forward replication", "export new"]
    assert bench.shares.rate is None
    assert bench.shares.marks == {0}
    bench.change(EAST.partition("[[forward]]")[0])
    assert not bench.line.tunnel.scheduler.accounts
    assert not bench.line.tunnel.scheduler.ruled
