"""Days, times of day, and which rate of a peer holds when."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from proxy.config.model import Peer
from proxy.config.timetable import Span, parse_clock, parse_days
from tests.unit.config.contract import site_of
from tests.unit.config.texts import of_peer

MONDAY = datetime(2026, 3, 23)


def at(day: int, time: str) -> datetime:
    """That local time of the week, 0 for Monday."""
    return MONDAY + timedelta(days=day, minutes=parse_clock(time))


def peer_with(text: str) -> Peer:
    return site_of(of_peer(text)).peers[0]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon-fri", {0, 1, 2, 3, 4}),
        ("sat", {5}),
        ("sat,sun", {5, 6}),
        ("sat-mon", {5, 6, 0}),
        ("mon-sun", set(range(7))),
        ("fri-fri", {4}),
        ("mon,wed,fri-sun", {0, 2, 4, 5, 6}),
    ],
)
def test_days(text: str, days: set[int]) -> None:
    assert parse_days(text) == days


@pytest.mark.parametrize("text", ["", "Mon", "mon-", "mon fri", "mon,", "daily", "mon-tue-wed"])
def test_what_is_no_list_of_days(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of days"):
        parse_days(text)


@pytest.mark.parametrize(("text", "minute"), [("00:00", 0), ("08:05", 485), ("23:59", 1439), ("24:00", 1440)])
def test_times_of_day(text: str, minute: int) -> None:
    assert parse_clock(text) == minute


@pytest.mark.parametrize("text", ["8:00", "24:01", "12:60", "12", "12:00:00", "25:00", "12:00\n"])
def test_what_is_no_time_of_day(text: str) -> None:
    with pytest.raises(ValueError, match="not a time of day"):
        parse_clock(text)


@pytest.mark.parametrize(
    ("days", "begin", "end"),
    [
        ("mon-fri", "08:00", "18:00"),
        ("sun", "22:00", "06:00"),
        ("sat,tue", "00:00", "24:00"),
        ("wed", "24:00", "01:00"),
    ],
)
def test_a_span_covers_its_minutes(days: str, begin: str, end: str) -> None:
    span = Span(parse_days(days), parse_clock(begin), parse_clock(end))
    covered = [minute for minute in range(7 * 1440) if span.covers(MONDAY + timedelta(minutes=minute))]
    assert set(covered) == span.minutes()


def test_without_a_timetable_the_rate_always_holds() -> None:
    assert peer_with("").rate_at(at(0, "12:00")) is None
    assert peer_with('rate = "45Mbit"\n').rate_at(at(0, "12:00")) == 45_000_000


def test_the_first_entry_that_fits_counts() -> None:
    peer = peer_with(
        'rate = "45Mbit"\n'
        '[[peer.schedule]]\ndays = "wed"\nfrom = "12:00"\nto = "13:00"\nrate = "1Mbit"\n'
        '[[peer.schedule]]\ndays = "mon-fri"\nfrom = "08:00"\nto = "18:00"\nrate = "10Mbit"\n'
    )
    told = {(day, time): peer.rate_at(at(day, time)) for day in (2, 4, 5) for time in ("07:59", "12:30", "18:00")}
    mbit = {moment: rate and rate // 1_000_000 for moment, rate in told.items()}
    assert mbit == {
        (2, "07:59"): 45,
        (2, "12:30"): 1,
        (2, "18:00"): 45,
        (4, "07:59"): 45,
        (4, "12:30"): 10,
        (4, "18:00"): 45,
        (5, "07:59"): 45,
        (5, "12:30"): 45,
        (5, "18:00"): 45,
    }


def test_past_midnight_it_is_still_the_day_on_which_it_began() -> None:
    peer = peer_with('[[peer.schedule]]\ndays = "fri"\nfrom = "22:00"\nto = "06:00"\nrate = "1Mbit"\n')
    assert peer.rate_at(at(4, "21:59")) is None
    assert peer.rate_at(at(4, "22:00")) == 1_000_000
    assert peer.rate_at(at(5, "05:59")) == 1_000_000
    assert peer.rate_at(at(5, "06:00")) is None
    assert peer.rate_at(at(4, "05:59")) is None


def changes(peer: Peer, begin: datetime, zone: ZoneInfo) -> list[str]:
    """The local times within four hours at which another rate begins to hold."""
    found, last = [], None
    for minute in range(4 * 60):
        local = (begin + timedelta(minutes=minute)).astimezone(zone)
        if (rate := peer.rate_at(local)) != last:
            found.append(f"{local:%H:%M %z} {(rate or 0) // 1_000_000}")
            last = rate
    return found


@pytest.fixture
def berlin() -> ZoneInfo:
    try:
        return ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        pytest.skip("this host has no time zone data")


def test_clocks_are_set_forward(berlin: ZoneInfo) -> None:
    """29 March 2026: after 01:59 comes 03:00. What begins at 02:30 begins then."""
    peer = peer_with('rate = "9Mbit"\n[[peer.schedule]]\nfrom = "02:30"\nto = "03:30"\nrate = "1Mbit"\n')
    begin = datetime(2026, 3, 29, 0, 0, tzinfo=UTC)
    assert changes(peer, begin, berlin) == ["01:00 +0100 9", "03:00 +0200 1", "03:30 +0200 9"]


def test_clocks_are_set_back(berlin: ZoneInfo) -> None:
    """25 October 2026: after 02:59 comes 02:00 again."""
    peer = peer_with('rate = "9Mbit"\n[[peer.schedule]]\nfrom = "02:30"\nto = "03:30"\nrate = "1Mbit"\n')
    begin = datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
    assert changes(peer, begin, berlin) == [
        "01:30 +0200 9",
        "02:30 +0200 1",
        "02:00 +0100 9",
        "02:30 +0100 1",
        "03:30 +0100 9",
    ]
