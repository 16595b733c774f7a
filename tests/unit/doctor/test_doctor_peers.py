"""The verdict on each peer, its path and its tunnel: each finding with its remedy."""

from typing import Any

import pytest

from proxy.config.model import Peer, SiteConfig
from proxy.doctor.facts import Contact, Reach
from proxy.doctor.findings import Finding, Level
from proxy.doctor.peers import idle_lanes, path, reachability, tunnel, waited_for

OWN = bytes(32)
RIGHT = "if the clock of this host is right (clock, below)"


@pytest.fixture
def west_as_peer(east: SiteConfig) -> Peer:
    return east.peers[0]


def verdict(peer: Peer, reach: Reach) -> Finding:
    return reachability(peer, reach, "east.crt", OWN)


def test_a_peer_that_accepts(west_as_peer: Peer) -> None:
    finding = verdict(west_as_peer, Reach(Contact.ACCEPTED, round_trip=0.1))
    assert (finding.about, finding.level, finding.remedy) == ("peer west", Level.OK, "")
    assert finding.found == "198.18.0.2:4500 accepts our certificate and shows its own; round trip 100 ms"


@pytest.mark.parametrize(
    ("contact", "remedy"),
    [
        (Contact.NO_NAME, "getent hosts 198.18.0.2"),
        (Contact.REFUSED, "start isthmus serve on 198.18.0.2, with tunnel.listen on port 4500"),
        (Contact.TIMEOUT, "let TCP port 4500 through every firewall on the way to 198.18.0.2"),
        (Contact.UNREACHABLE, "ip route get 198.18.0.2"),
        (Contact.BLACK_HOLE, "on both hosts: printf '%s\\n' 'net.ipv4.tcp_mtu_probing = 1' >>"),
        (Contact.SILENT, "a firewall on the way, or another program at port 4500"),
        (Contact.NOT_TLS, "ss -ltnp 'sport = :4500' on 198.18.0.2"),
        (Contact.WRONG_CERTIFICATE, "use its certificate, compared by SHA-256, as west.crt: type here what `isthmus"),
        (Contact.NOT_TRUSTED, "give it east.crt (SHA-256 00:00:"),
        (Contact.NOT_TRUSTED, "type there what `isthmus invite` prints here, with --replace, then `isthmus reload`"),
        (Contact.UNCLEAR, "run isthmus doctor on 198.18.0.2, too"),
    ],
)
def test_a_peer_that_does_not(west_as_peer: Peer, contact: Contact, remedy: str) -> None:
    finding = verdict(west_as_peer, Reach(contact, "so it says"))
    assert finding.level is (Level.ATTENTION if contact is Contact.UNCLEAR else Level.PROBLEM)
    assert finding.found == f"198.18.0.2:4500: {contact.value} (so it says)"
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    ("alert", "clock"), [("bad certificate", True), ("certificate expired", True), ("unknown ca", False)]
)
def test_who_refuses_us_by_its_clock_may_know_our_certificate(west_as_peer: Peer, alert: str, clock: bool) -> None:
    finding = verdict(west_as_peer, Reach(Contact.NOT_TRUSTED, f"the other side refuses our certificate: {alert}"))
    assert ("set the clock of 198.18.0.2" in finding.remedy) is clock
    assert "give it east.crt (SHA-256 00:00:" in finding.remedy


@pytest.mark.parametrize(
    ("refused", "pinned", "remedy"),
    [
        ("certificate has expired", True, f"{RIGHT}: isthmus keygen --site west --out DIR --force"),
        ("certificate has expired", False, f"{RIGHT}: have the CA sign a new one for west"),
        ("certificate is not yet valid", True, "see whether the clocks of both hosts are right (clock, below)"),
    ],
)
def test_a_certificate_that_only_its_dates_make_wrong(
    west_as_peer: Peer, refused: str, pinned: bool, remedy: str
) -> None:
    """To use the one that it shows, as for another one, would change nothing: that is the one that is pinned."""
    peer = west_as_peer if pinned else west_as_peer.model_copy(update={"certificate": None})
    finding = verdict(peer, Reach(Contact.WRONG_CERTIFICATE, f"its certificate is refused: {refused}"))
    assert finding.remedy.startswith(remedy)


def test_every_contact_has_a_verdict(west_as_peer: Peer) -> None:
    for contact in Contact:
        finding = verdict(west_as_peer, Reach(contact))
        assert bool(finding.remedy) == (contact is not Contact.ACCEPTED)


def test_a_wrong_certificate_is_named(west_as_peer: Peer) -> None:
    finding = verdict(west_as_peer, Reach(Contact.WRONG_CERTIFICATE, shown=bytes([171]) * 32))
    assert "it shows SHA-256 AB:AB:" in finding.found


@pytest.mark.parametrize(
    ("reach", "level", "found", "remedy"),
    [
        (Reach(Contact.ACCEPTED, mtu=1500, segment=1448, full_size=True), Level.OK, "MTU 1500, MSS 1448, packets", ""),
        (Reach(Contact.SILENT, mtu=1500, segment=1448), Level.OK, "MTU 1500, MSS 1448", ""),
        (Reach(Contact.ACCEPTED, mtu=1280, segment=1228), Level.OK, "MTU 1280", ""),
        (Reach(Contact.ACCEPTED, mtu=1279, segment=1227), Level.ATTENTION, "MTU 1279", "tracepath"),
        (
            Reach(Contact.ACCEPTED, mtu=1500, segment=1448, discovery=False),
            Level.ATTENTION,
            "path MTU discovery is off",
            "'net.ipv4.ip_no_pmtu_disc = 0' >>",
        ),
    ],
)
def test_paths(west_as_peer: Peer, reach: Reach, level: Level, found: str, remedy: str) -> None:
    (finding,) = path(west_as_peer, reach)
    assert (finding.about, finding.level) == ("path to west", level)
    assert found in finding.found
    assert remedy in finding.remedy


def test_no_path_without_a_connection(west_as_peer: Peer) -> None:
    assert list(path(west_as_peer, Reach(Contact.REFUSED))) == []


@pytest.mark.parametrize(
    ("state", "level", "found"),
    [
        ({"state": "up", "lanes": [{}, {}], "round_trip_seconds": 0.1}, Level.OK, "up, 2 lanes, round trip 100 ms"),
        ({"state": "up", "lanes": [{}]}, Level.OK, "up, 1 lane"),
        ({"state": "waiting", "last_error": "x"}, Level.ATTENTION, "no lane is up; the last error: x"),
        ({"state": "connecting", "last_error": "timed out"}, Level.PROBLEM, "connecting: timed out"),
        ({"state": "connecting"}, Level.ATTENTION, "not up yet"),
        ({"state": "outage"}, Level.PROBLEM, "outage"),
        ({"state": "outage", "lanes": [{}]}, Level.PROBLEM, "outage: nothing is heard on its lanes"),
        ({"state": "waiting", "lanes": [{}]}, Level.ATTENTION, "nothing is heard on its lanes"),
        ({}, Level.PROBLEM, "unknown"),
    ],
)
def test_what_the_running_site_says(state: dict[str, Any], level: Level, found: str) -> None:
    finding = tunnel("west", state)
    assert (finding.about, finding.level, finding.found) == ("tunnel to west", level, found)
    assert bool(finding.remedy) == (level is not Level.OK)


def test_one_that_dials_in_has_no_finding_above() -> None:
    dialled = tunnel("west", {"state": "outage", "last_error": "x"})
    dials_in = tunnel("west", {"state": "outage", "last_error": "x"}, dials_in=True)
    assert ("above" in dialled.remedy, "above" in dials_in.remedy) == (True, False)
    assert "on its host" in dials_in.remedy


def test_two_sites_that_wait_for_each_other_are_told_what_either_lacks() -> None:
    """Of both it would be said that the other one is the side that dials."""
    finding = tunnel("west", {"state": "waiting"}, dials_in=True)
    assert "peer.address in its file" in finding.remedy


def test_one_that_is_reached_and_refuses_has_nothing_amiss_above() -> None:
    """TLS knows certificates only: it comes up where one site has the other's name wrong."""
    finding = tunnel("west", {"state": "connecting", "last_error": "refused: wrong_name"}, reached=True)
    assert (finding.level, finding.found) == (Level.PROBLEM, "connecting: refused: wrong_name")
    assert "above" not in finding.remedy
    assert finding.remedy.startswith("put right what that says")


def test_who_is_waited_for_may_be_who_was_refused() -> None:
    why = "192.0.2.2:49268, the other side refuses our certificate: unknown ca"
    finding = tunnel("west", {"state": "waiting"}, why)
    assert finding.found == f"it has not dialled in, unless it is what was refused last: {why}"
    up = tunnel("west", {"state": "up", "lanes": [{}]}, why)
    assert up.found == "up, 1 lane"


def test_a_peer_that_dials_in(west: SiteConfig) -> None:
    finding = waited_for(west.peers[0])
    assert (finding.about, finding.level) == ("peer east", Level.OK)


@pytest.mark.parametrize(
    ("keepalive", "dead_after", "round_trip", "remedy"),
    [
        (2.0, 2.5, 0.5, 'dead_after = "10s" in [tunnel], then isthmus reload'),
        (2.0, 2.5, 0.499, ""),
        (0.1, 0.2, 0.3, 'dead_after = "2s" in [tunnel], then isthmus reload'),
        (3600.0, 3600.1, 0.1, 'dead_after = "2h" in [tunnel], then isthmus reload'),
        (2.0, 2.1, None, ""),
    ],
)
def test_lanes_that_are_given_up_before_they_are_answered(
    east: SiteConfig, keepalive: float, dead_after: float, round_trip: float | None, remedy: str
) -> None:
    settings = east.tunnel.model_copy(update={"keepalive": keepalive, "dead_after": dead_after})
    found = list(idle_lanes(settings, round_trip))
    assert [(each.about, each.level, each.remedy) for each in found] == [
        ("idle lanes", Level.ATTENTION, remedy) for _ in found
    ]
    assert bool(found) is bool(remedy)


def test_what_idle_lanes_have_no_time_for(east: SiteConfig) -> None:
    settings = east.tunnel.model_copy(update={"keepalive": 2.0, "dead_after": 2.2})
    (finding,) = idle_lanes(settings, 0.405)
    assert finding.found == (
        "dead_after (2200ms) leaves no time for keepalive (2s) and a round trip of 405 ms: lanes that carry nothing"
        " are given up again and again, unless the peer asks more often"
    )
