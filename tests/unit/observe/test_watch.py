"""The watch as a transcript: seconds of snapshots in, health, events and warnings out. No clock but the test's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedupstore import open_store
from proxy.observe import codes
from proxy.observe.answers import Level
from proxy.observe.history import History
from proxy.observe.journal import Journal
from proxy.observe.snapshot import CertificateStatus, VerdictStatus
from proxy.observe.watch import Watch
from tests.unit.observe.snapshots import NOW, changed, down, lane, of_peer, peer, store, with_peer
from tests.unit.observe.watched import MIB, Site, moving

PROXY = Path(__file__).parents[3] / "proxy"


def test_all_is_well() -> None:
    site = Site()
    assert (site.level, site.words, site.reasons) == (Level.HEALTHY, "replication is healthy", [])
    assert site.told == ["IST-101"]


def test_an_outage_and_its_end() -> None:
    site = Site()
    site.pass_(changed(peers=[down()]), 5)
    health = site.watch.health
    assert (health.level, health.peers[0].tunnel.level) == (Level.CRITICAL, Level.CRITICAL)
    assert health.words == "there is no tunnel to west: reset by peer; 3 streams wait"
    assert health.since == health.peers[0].tunnel.reasons[0].since == NOW + 2
    assert health.peers[0].tunnel.reasons[0].remedy == codes.TUNNEL_DOWN.remedy
    site.pass_(with_peer(outages=1, resumed=1, streams=3))
    assert site.level is Level.HEALTHY
    assert site.told == ["IST-101", "IST-102", "IST-103"]


SILENT: dict[str, Any] = {"state": "outage", "lanes": [lane(silent=True)], "streams": 3}


@pytest.mark.parametrize("outages", [0, 1])
def test_a_tunnel_that_only_falls_silent_has_gone_and_comes_up(outages: int) -> None:
    site = Site(with_peer(outages=outages))
    before = len(site.told)
    site.pass_(with_peer(**SILENT, outages=outages), 15)
    assert site.words == "there is no tunnel to west: nothing is heard on its lanes; 3 streams wait"
    site.pass_(with_peer(outages=outages), 5)
    assert site.told[before:] == ["IST-102", "IST-106", "IST-101"]
    assert "nothing is heard on its lanes" in site.events[before].words


def test_a_silent_tunnel_whose_lanes_end_is_told_once() -> None:
    site = Site()
    site.pass_(with_peer(**SILENT), 5)
    site.pass_(changed(peers=[down()]), 5)
    site.pass_(with_peer(outages=1, resumed=1), 5)
    assert site.told == ["IST-101", "IST-102", "IST-106", "IST-103"]


def test_an_outage_between_two_seconds_is_told() -> None:
    site = Site()
    site.pass_(with_peer(outages=1, resumed=1))
    assert site.told == ["IST-101", "IST-102", "IST-103"]


@pytest.mark.parametrize("resumed", [True, False])
@pytest.mark.parametrize("was_up", [True, False])
def test_a_tunnel_that_comes_up_between_two_seconds_and_is_lost_again_is_told(resumed: bool, was_up: bool) -> None:
    """Resumed, or anew, as after a reset; from the outage that it ends, or from before that."""
    site = Site()
    if not was_up:
        site.pass_(changed(peers=[down()]), 3)
    site.pass_(changed(peers=[down(outages=2, resumed=int(resumed))]), 3)
    came = "IST-103" if resumed else "IST-101"
    assert site.told == ["IST-101", "IST-102", came, "IST-102"]
    site.pass_(with_peer(outages=2, resumed=1 + resumed))
    assert site.told[4:] == ["IST-103"]


def test_a_tunnel_that_is_lost_within_its_first_second_is_told() -> None:
    site = Site(changed(peers=[peer(state="waiting", lanes=[], known_seconds=3.0)]))
    site.pass_(changed(peers=[down()]), 3)
    assert site.told == ["IST-101", "IST-102"]


def test_a_peer_that_began_anew() -> None:
    site = Site()
    site.pass_(changed(peers=[down(tunnel_resets=1)]))
    site.pass_(with_peer(outages=1, tunnel_resets=1))
    assert site.told == ["IST-101", "IST-102", "IST-104", "IST-101"]


def test_a_tunnel_that_never_came_up_is_waited_for_at_first() -> None:
    """From the start, or from the reload by which the site has got the peer."""
    never = peer(state="waiting", lanes=[])
    site = Site(changed(peers=[replace(never, known_seconds=3.0)]))
    assert (site.level, site.told) == (Level.ATTENTION, [])
    site.pass_(changed(peers=[replace(never, known_seconds=30.0)]), 3)
    assert (site.level, site.told) == (Level.CRITICAL, ["IST-102"])


def test_one_of_two_peers_is_not_all() -> None:
    both = [peer(), down(name="north")]
    site = Site(changed(peers=both))
    assert [each.level for each in site.watch.health.peers] == [Level.HEALTHY, Level.CRITICAL]
    assert site.level is Level.DEGRADED


def test_a_line_that_flaps() -> None:
    site = Site()
    for outages in (1, 2, 3):
        site.pass_(with_peer(outages=outages, resumed=outages), 5)
    assert site.reasons == ["IST-105"]
    assert site.level is Level.ATTENTION
    site.pass_(with_peer(outages=3, resumed=3), 700)
    assert site.reasons == []


def test_loss_of_a_lane() -> None:
    site = Site()
    for second in range(1, 12):
        again = 80_000 * second
        moved = lane(bytes_sent=1_000_000 * second, bytes_retransmitted=again)
        site.pass_(with_peer(lanes=[moved], bytes=of_peer(wire=1_000_000 * second, wire_retransmitted=again)))
    tunnel = site.watch.health.peers[0].tunnel
    (reason,) = tunnel.lanes[0].reasons
    assert (reason.code, reason.words) == ("IST-107", "7.4% of what it sent in the last minute had to be sent again")
    assert tunnel.loss == pytest.approx(0.074, abs=0.001)
    assert tunnel.sent_bits_per_second == pytest.approx(8 * 1_080_000, rel=0.01)
    assert tunnel.lanes[0].window_bytes == 14480
    assert site.level is Level.ATTENTION


@pytest.mark.parametrize(("control", "lacks"), [("bbr", False), ("bbr3", False), ("cubic", True), ("", True)])
def test_the_remedy_for_loss_is_what_the_lane_lacks(control: str, lacks: bool) -> None:
    site = Site()
    for second in range(1, 12):
        moved = lane(bytes_sent=1_000_000 * second, bytes_retransmitted=80_000 * second, congestion_control=control)
        site.pass_(with_peer(lanes=[moved]))
    (reason,) = site.watch.health.peers[0].tunnel.lanes[0].reasons
    assert ("(`modprobe tcp_bbr`), then `isthmus reload`" in reason.remedy) is lacks
    assert site.events[-1].remedy == reason.remedy


def test_a_few_packets_tell_no_loss() -> None:
    """A lane that carries 30 kbit/s, of which a burst was lost; also one that was lossy while it carried much."""
    for busy in (0, 20):
        site, sent, again = Site(), 0, 0
        for second in range(1, 120):
            sent, again = sent + (1_000_000 if second < busy else 3750), again + (80_000 if second < busy else 300)
            site.pass_(with_peer(lanes=[lane(bytes_sent=sent, bytes_retransmitted=again)]))
        assert site.reasons == []
        assert site.told.count("IST-107") == (busy > 0)


def test_loss_about_the_threshold_is_told_once() -> None:
    """It is over when it has been much less for a minute, and is told when it comes again."""
    site, sent, again, told = Site(), 0, 0, list[int]()
    for lost in (*[0.06, 0.03] * 60, *[0.001] * 60, *[0.07] * 30):
        for _ in range(10):
            sent, again = sent + 100_000, again + round(lost * 100_000)
            site.pass_(with_peer(lanes=[lane(bytes_sent=sent, bytes_retransmitted=again)]))
        told.append(site.told.count("IST-107"))
    assert (told[119], told[-1]) == (1, 2)


def test_one_silent_lane_of_two_is_no_more_than_attention() -> None:
    lanes = [lane(silent=True), lane(number=2)]
    assert Site(with_peer(lanes=lanes)).level is Level.ATTENTION
    assert Site(with_peer(lanes=lanes[:1])).level is Level.DEGRADED


@pytest.mark.parametrize(
    ("days", "level", "code"),
    [
        (31, Level.HEALTHY, None),
        (29, Level.ATTENTION, "IST-202"),
        (3, Level.DEGRADED, "IST-202"),
        (-1, Level.CRITICAL, "IST-203"),
    ],
)
def test_a_certificate_ends(days: float, level: Level, code: str | None) -> None:
    site = Site(changed(certificates=[CertificateStatus("own", "east", NOW + days * 86400 + 60)]))
    assert site.level is level
    assert [each for each in site.told if each != "IST-101"] == ([code] if code else [])


def test_a_peers_ended_certificate_is_not_the_sites_end() -> None:
    assert Site(changed(certificates=[CertificateStatus("peer", "west", NOW - 1)])).level is Level.DEGRADED


def test_the_stores_alarms_come_and_go_once() -> None:
    site = Site()
    trouble = changed(store=store(alarms=["Store x takes nothing new"]))
    site.pass_(trouble, 5)
    assert site.watch.health.store.reasons[0].words == "Store x takes nothing new"
    site.pass_(changed(), 60)
    assert site.told == ["IST-101", "IST-301", "IST-302"]


def test_a_trouble_of_the_store_that_becomes_another_is_not_over() -> None:
    site = Site()
    for alarm in ("The disk is full: store x stays at 4000 MiB", "Store x takes nothing new"):
        site.pass_(changed(store=store(alarms=[alarm])), 3)
    assert site.told == ["IST-101", "IST-301", "IST-301"]
    site.pass_(changed(), 60)
    assert site.told[-1] == "IST-302"


def test_each_certificate_that_ends_is_told_once() -> None:
    """Also the second one, and though the words have fewer days each day; a day in 864 s here."""
    site = Site(changed(certificates=[]))
    for second in range(0, 2592, 8):
        ends = [("own", "east", 20), ("peer", "west", 10), ("peer", "north", 10)]
        left = [CertificateStatus(role, name, NOW + (days - second / 864) * 86400) for role, name, days in ends]
        site.pass_(changed(certificates=left[: 1 + second // 100]))
    assert site.told == ["IST-101", "IST-202", "IST-202", "IST-202"]
    assert [event.words for event in site.events[1:]] == [
        "this site's certificate ends in 19 days",
        "the certificate of peer west ends in 9 days",
        "the certificate of peer north ends in 9 days",
    ]


def test_since_when_is_known_of_each_certificate() -> None:
    ends = [CertificateStatus("peer", name, NOW + 10 * 86400) for name in ("west", "north")]
    site = Site()
    site.pass_(changed(certificates=ends[:1]))
    site.pass_(changed(certificates=ends), 5)
    assert [reason.since - NOW for reason in site.watch.health.reasons] == [2, 3]


def test_a_store_that_was_set_aside_has_a_code_of_its_own(tmp_path: Path) -> None:
    """By the words of a real store's alarm."""
    (tmp_path / "containers").write_bytes(b"noise" * 10_000)
    opened = open_store("disk", 64 * MIB, tmp_path, cache_bytes=32 * MIB)
    alarms = list(opened.alarms)
    opened.close()
    site = Site(changed(store=store(alarms=alarms)))
    assert [code for code in site.told if code != "IST-101"] == ["IST-303"], "one trouble, though it takes two alarms"
    assert site.watch.health.store.reasons[0].words == f"{alarms[0]} {alarms[1]}"
    again = open_store("disk", 64 * MIB, tmp_path, cache_bytes=32 * MIB)
    alarms = list(again.alarms)
    again.close()
    site = Site(changed(store=store(alarms=alarms)))
    (reason,) = site.watch.health.store.reasons
    assert f"{reason.words} {reason.remedy}".count("delete") == 1
    site.pass_(changed(), 60)
    assert site.told[-2:] == ["IST-303", "IST-302"]


def test_chunks_that_failed_verification() -> None:
    site = Site()
    site.pass_(changed(store=store(invalid=2)))
    assert site.reasons == ["IST-304"]
    site.pass_(with_peer(bytes=of_peer(mismatches=1)))
    assert "IST-108" in site.reasons


def test_wrong_chunks_of_the_first_second_count() -> None:
    watch = Watch(Journal(), History(0.0), changed())
    watch.note(with_peer(bytes=of_peer(mismatches=1)), NOW, 0.9)
    assert [reason.code for reason in watch.health.peers[0].reasons] == ["IST-108"]


def test_wrong_chunks_of_a_peer_are_told_each_time() -> None:
    """What was refused long ago is neither a trouble of today nor hides the next one."""
    site = Site()
    site.pass_(with_peer(bytes=of_peer(mismatches=1)), 700)
    assert (site.level, site.reasons) == (Level.HEALTHY, [])
    site.pass_(with_peer(bytes=of_peer(mismatches=3)))
    (reason,) = site.watch.health.peers[0].reasons
    assert (reason.code, reason.level) == ("IST-108", Level.DEGRADED)
    assert reason.words == "2 chunks from west did not match their fingerprints in the last ten minutes"
    assert site.told == ["IST-101", "IST-108", "IST-108"]


def test_refused_connections_are_told_once_a_minute() -> None:
    site = Site()
    for refused in range(1, 30):
        site.pass_(changed(refused=refused * 100, last_refusal="192.0.2.9:1, no certificate"))
    (event,) = site.said("IST-201")
    assert event.count == 29
    assert "no certificate" in event.words


def test_refusals_of_a_second_that_took_longer_are_told() -> None:
    site = Site()
    for clock, refused in ((2.0, 0), (4.6, 100), (5.6, 100)):
        site.watch.note(changed(refused=refused, last_refusal="192.0.2.9:1"), NOW + clock, clock)
    (event,) = site.said("IST-201")
    assert event.words == "100 connections to the tunnel listener refused: 192.0.2.9:1"


def test_a_single_refusal() -> None:
    site = Site()
    site.pass_(changed(refused=1, last_refusal="192.0.2.9:1"))
    (event,) = site.said("IST-201")
    assert event.words == "1 connection to the tunnel listener refused: 192.0.2.9:1"


def test_draining() -> None:
    """The event is the service's to tell: the site may have ended before anybody looks."""
    site = Site()
    site.pass_(changed(draining=True), 3)
    assert (site.level, site.told) == (Level.ATTENTION, ["IST-101"])


def test_data_that_does_not_reduce_is_said() -> None:
    site = Site()
    for second in range(1, 20):
        site.pass_(moving(second))
    (caution,) = site.watch.cautions
    assert (caution.code, caution.subject) == ("IST-501", "forward replication")
    assert "compressed or encrypted already" in caution.words
    assert site.told.count("IST-501") == 1


def test_of_data_that_is_not_compressed_for_speed_nobody_knows() -> None:
    for spared, told in ((0.05, True), (0.5, False)):
        site = Site()
        for second in range(1, 20):
            site.pass_(moving(second, spared=spared))
        assert bool(site.warned) is told


def test_of_data_that_a_slow_store_is_spared_nobody_knows_either() -> None:
    site = Site()
    for second in range(1, 20):
        site.pass_(moving(second, left=1.0, relieved=0.5))
    assert site.warned == ["IST-506"]


def test_a_slow_store_of_a_peer_is_said_once_it_costs_the_line_something() -> None:
    site = Site()
    for second in range(1, 20):
        counts = of_peer(relieved=10 * second * MIB)
        site.pass_(with_peer(store_bytes_per_second=4_200_000, bytes=counts))
    (caution,) = site.watch.cautions
    assert (caution.code, caution.subject) == ("IST-506", "peer west")
    assert "went literally in ten minutes: its store gives 4.2 MB/s" in caution.words
    assert caution.words.endswith("and the line has room for more"), "which may be less than what the store gives"
    site.pass_(with_peer(store_bytes_per_second=None, bytes=of_peer(relieved=190 * MIB)), 130)
    assert site.warned == []


def test_a_slow_store_on_a_thin_line_is_one_warning_though_relief_rests_most_of_the_time() -> None:
    site = Site()
    for second in range(300):
        counts = of_peer(relieved=(second // 70 * 10 + min(second % 70, 10)) * 20 * MIB)
        site.pass_(with_peer(store_bytes_per_second=4_200_000, bytes=counts))
    assert site.told.count("IST-506") == 1


def test_a_slow_store_of_a_peer_that_is_now_and_then_a_fast_one_is_said_once() -> None:
    """The rate comes and goes about the one from which on a store is fast, and a peer may say what it likes."""
    site = Site()
    for second in range(1, 100):
        rate = 4_200_000 if second % 3 else None
        site.pass_(with_peer(store_bytes_per_second=rate, bytes=of_peer(relieved=10 * second * MIB)))
    assert site.told.count("IST-506") == 1


def test_data_that_reduces_or_is_little_is_not() -> None:
    for left, most in ((0.5, 20), (1.001, 3)):
        site = Site()
        for second in range(1, most):
            site.pass_(moving(second, left))
        assert site.warned == []


def test_a_window_that_limits_has_to_last() -> None:
    site = Site()
    limited = with_peer(verdict=VerdictStatus("round trip or window", 0.9, "window 64 MiB / 100 ms"))
    site.pass_(limited, 20)
    assert site.warned == []
    site.pass_(limited, 20)
    assert [(each.code, each.since) for each in site.watch.cautions] == [("IST-503", NOW + 2)]


def test_a_window_that_limits_does_so_though_the_clock_is_set_back() -> None:
    site = Site()
    limited = with_peer(verdict=VerdictStatus("round trip or window", 0.9, "window 64 MiB / 100 ms"))
    site.pass_(limited)
    for second in range(3, 40):
        site.watch.note(limited, NOW - 3600 + second, float(second))
    assert site.warned == ["IST-503"]


def test_a_store_that_is_too_small() -> None:
    site = Site()
    for second in range(1, 5):
        used = store(
            evicted_bytes=second * MIB, hits=500, misses=500, missed_by_size=[(2, 100.0), (4, 200.0), (8, 200.0)]
        )
        site.pass_(changed(store=used))
    assert site.warned == ["IST-504"]
    assert site.watch.cautions[0].words == "a store of 2 GiB would have answered 10.0% more of all look-ups"


def test_what_was_replaced_in_the_last_hour() -> None:
    site = Site()
    for minute in range(120):
        last = changed(store=store(evicted_bytes=minute * MIB))
        site.watch.note(last, NOW + 60 * minute, 60.0 * minute)
    assert site.watch.replaced_last_hour(last) == pytest.approx(60 * MIB, abs=2 * MIB)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"short_packets": True}, "IST-110"),
        ({"other_congestion_control": "the kernel does cubic"}, "IST-111"),
        ({"references_suspended": True}, "IST-109"),
        ({"drains": "west drains: the site shuts down"}, "IST-114"),
    ],
)
def test_what_deserves_attention(changes: dict[str, Any], code: str) -> None:
    site = Site(with_peer(**changes))
    assert (site.level, site.reasons) == (Level.ATTENTION, [code])
    assert site.told == ["IST-101", code]
    site.pass_(changed())
    assert (site.level, site.reasons) == (Level.HEALTHY, [])


def test_a_failed_reload_and_data_that_passes_unlearned() -> None:
    site = Site(changed(reload_problem="east.crt is no certificate"))
    assert (site.level, site.reasons) == (Level.DEGRADED, ["IST-204"])
    site.pass_(changed(store=store(unlearned_bytes=5 * MIB)))
    assert (site.level, site.reasons) == (Level.ATTENTION, ["IST-305"])


def test_a_process_that_is_busy_has_to_be_so_for_a_while() -> None:
    site = Site()
    site.pass_(changed(processor_share=0.97), 40)
    assert site.warned == ["IST-408"]


def test_every_code_can_be_told() -> None:
    """Each code of the table is used somewhere beside it: one that never comes is a promise not kept."""
    used = "".join(path.read_text() for path in PROXY.rglob("*.py") if path.name != "codes.py")
    all_codes = [name for name, value in vars(codes).items() if isinstance(value, codes.Code)]
    assert not [name for name in all_codes if f"codes.{name}" not in used]
