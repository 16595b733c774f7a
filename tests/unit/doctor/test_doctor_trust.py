"""Certificates that end, and clocks that are wrong."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proxy.doctor.facts import Clock, Zone
from proxy.doctor.findings import Finding, Level
from proxy.doctor.trust import CA_RENEWAL, certificate, clock, names, pinned, renewal, zone
from proxy.identity import Certificate
from tests.unit.config.contract import EAST
from tests.unit.doctor.conftest import site

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CERTIFICATE = Certificate(
    name="east",
    sites=("east",),
    fingerprint=bytes(range(32)),
    public_key=b"",
    begins=NOW - timedelta(days=1),
    expires=NOW + timedelta(days=3650),
    authority=False,
    dials=True,
    answers=True,
)


def judged(days: float) -> Finding:
    """Of a certificate that ends in so many days."""
    facts = replace(CERTIFICATE, expires=NOW + timedelta(days=days))
    return certificate("own certificate", facts, NOW, renewal("east"))


def test_a_certificate_that_lasts() -> None:
    finding = judged(31)
    assert (finding.level, finding.remedy) == (Level.OK, "")
    assert finding.found == "east, SHA-256 00:01:02:03:04:05:06:07..., until 2026-12-22"


@pytest.mark.parametrize(
    ("days", "words"), [(29.5, "2026-12-21: that is in 29 days"), (0.9, "2026-11-22: that is in 21 h")]
)
def test_a_certificate_that_ends_soon(days: float, words: str) -> None:
    finding = judged(days)
    assert finding.level is Level.ATTENTION
    assert finding.found.endswith(f"until {words}")
    assert "isthmus keygen --site east --out DIR --force on" in finding.remedy


def test_one_that_has_ended() -> None:
    finding = judged(0)
    assert finding.level is Level.PROBLEM
    assert finding.found.endswith("it has expired, and who shows it is refused")
    clock = "if the clock of this host is right (2026-11-21 12:00 UTC)"
    assert finding.remedy.startswith(f"{clock}: isthmus keygen --site east --out DIR --force on")


def test_one_that_has_not_begun() -> None:
    finding = certificate("certificate of west", CERTIFICATE, CERTIFICATE.begins - timedelta(days=2), "")
    assert finding.level is Level.PROBLEM
    assert finding.found.endswith("it is not valid before 2026-11-20 12:00 UTC")
    assert finding.remedy == "see whether the clocks of both hosts are right (here 2026-11-18 12:00 UTC)"


def test_a_ca_is_renewed_otherwise() -> None:
    finding = certificate("certificate of the CA", CERTIFICATE, NOW + timedelta(days=3640), CA_RENEWAL)
    assert (finding.level, finding.remedy) == (Level.ATTENTION, CA_RENEWAL)


def test_a_name_that_the_ca_has_not_signed() -> None:
    assert list(names(CERTIFICATE, "east")) == []
    (finding,) = names(CERTIFICATE, "nord")
    assert finding.level is Level.ATTENTION
    assert finding.found == "it is for east, not for nord: who does not pin it refuses it"
    assert "have the CA sign one for nord" in finding.remedy


def test_a_pinned_certificate_for_another_name() -> None:
    """The site that shows it may be called as the peer is, whatever its certificate says."""
    assert list(pinned(CERTIFICATE, "east")) == list(pinned(replace(CERTIFICATE, sites=()), "west")) == []
    (finding,) = pinned(CERTIFICATE, "west")
    assert (finding.level, finding.about) == (Level.ATTENTION, "certificate of west")
    assert finding.found == "it is for east: if that site is not called west, no tunnel to it comes up"
    assert finding.remedy == "have peer.name here be the site.name there"


def test_clocks() -> None:
    now = NOW.timestamp()
    right = clock(Clock(now, True, now))
    assert (right.level, right.found) == (Level.OK, "2026-11-21 12:00:00 UTC, synchronised")
    for unsure in (False, None):
        finding = clock(Clock(now, unsure, now))
        assert finding.level is Level.ATTENTION
        assert "timedatectl set-ntp true" in finding.remedy


@pytest.mark.parametrize("synchronised", [True, False, None])
def test_a_clock_that_is_before_the_sites_own_files(synchronised: bool | None) -> None:
    now = NOW.timestamp()
    finding = clock(Clock(now, synchronised, now + 2 * 86400))
    assert finding.level is Level.PROBLEM
    assert finding.found.endswith("but the site's own files were written 2026-11-23 12:00 UTC")
    assert "timedatectl" in finding.remedy
    tolerated = clock(Clock(now, True, now + 600))
    assert tolerated.level is Level.OK


SCHEDULED = EAST.replace(
    'certificate = "west.crt"\n',
    'certificate = "west.crt"\n[[peer.schedule]]\nfrom = "08:00"\nto = "18:00"\nrate = "10Mbit"\n',
)


def test_a_time_zone_that_is_not_known_matters_where_rates_have_a_schedule() -> None:
    """It is taken for UTC, and the rates began at the wrong hour without a word."""
    unknown = Zone("TZ=Europe/Berln", known=False)
    (finding,) = zone(site(SCHEDULED), unknown)
    assert (finding.level, finding.about) == (Level.PROBLEM, "time zone")
    assert finding.found.startswith("TZ=Europe/Berln is not known here, so UTC is taken: the rates of peer.schedule")
    assert "TZ=Europe/Berlin in the unit, ISTHMUS_TIME_ZONE of a container; or install tzdata" in finding.remedy
    assert not list(zone(site(EAST), unknown))
    assert not list(zone(site(SCHEDULED), None)), "nothing is said of what is not told"


@pytest.mark.parametrize(("name", "shown"), [("TZ=CET-1", "TZ=CET-1"), ("", "UTC, since no other is set")])
def test_the_time_zone_of_a_schedule_is_told(name: str, shown: str) -> None:
    (finding,) = zone(site(SCHEDULED), Zone(name, known=True))
    assert (finding.level, finding.found) == (Level.OK, f"peer.schedule goes by {shown}")
