"""`isthmus plan`: what it prints, as JSON and as tables, and what it refuses."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from proxy.cli.plan import compute
from proxy.errors import ExitCode
from tests.time_zones import time_zone
from tests.unit.cli.conftest import Isthmus

LINE = ("--rate", "45Mbit", "--round-trip", "100ms")


def planned(isthmus: Isthmus, *words: str) -> dict[str, Any]:
    shown = isthmus("plan", *words, "--json")
    assert (shown.exit_code, shown.stderr) == (0, "")
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def test_a_line(isthmus: Isthmus) -> None:
    found = planned(isthmus, *LINE, "--loss", "1%")
    assert set(found) == {"line", "connection", "buffers", "notes"}
    assert found["line"]["goodput"] == pytest.approx(43.0e6, rel=0.001)
    assert found["connection"]["window_rate"] == 5.76e6
    assert found["buffers"]["bandwidth_delay"] == 562_500
    assert "net.ipv4.tcp_window_scaling = 1" in found["buffers"]["sysctl"]
    assert found["notes"] == []


def test_a_round_trip_as_ping_tells_it(isthmus: Isthmus) -> None:
    """Not in whole milliseconds, as durations of a site's file are."""
    found = planned(isthmus, "--rate", "1Gbit", "--round-trip", "0.42ms")
    assert found["line"]["round_trip"] == 0.00042
    assert found["buffers"]["bandwidth_delay"] == 52_500


def test_a_replication(isthmus: Isthmus) -> None:
    found = planned(isthmus, *LINE, "--volume", "2.18GiB", "--window", "256KB", "--connections", "4")
    ways = [(way["way"], way["window"]) for way in found["replication"]]
    arrays = [("arrays alone", window) for window in (72_000, 256_000, 1_000_000, 2_000_000)]
    assert ways == [*arrays, ("Isthmus, cold", None), ("Isthmus, warm", None)]
    assert found["replication"][0]["rate"] == 4 * 5.76e6
    assert all(way["ends"] is None for way in found["replication"])


def test_there_is_no_part_of_a_byte(isthmus: Isthmus) -> None:
    words = (*LINE, "--volume", "10B", "--reduction", "38%")
    assert [way["on_line"] for way in planned(isthmus, *words)["replication"]] == [10, 10, 10, 7, 1]
    assert "6.22" not in isthmus("plan", *words).stdout


def test_which_line_is_needed(isthmus: Isthmus) -> None:
    """One could only try rate after rate; the arrays' own connections may need a line that there is not."""
    words = ("--round-trip", "100ms", "--loss", "1%", "--volume", "100GB", "--reduction", "38%", "--within", "8h")
    found = planned(isthmus, *words)
    assert set(found) == {"needed", "notes"}
    rates = {way["way"]: way["rate"] for way in found["needed"]["ways"]}
    assert rates["arrays alone"] is None
    assert all(way["most"] < 2e6 for way in found["needed"]["ways"] if way["way"] == "arrays alone")
    cold = next(
        way
        for way in planned(isthmus, "--rate", f"{rates['Isthmus, cold']:.0f}bit", *words)["replication"][::-1]
        if way["way"] == "Isthmus, cold"
    )
    assert cold["seconds"] == pytest.approx(8 * 3600)
    shown = isthmus("plan", *words).stdout
    assert "100 GB within 8h" in shown
    assert "none is enough: at most 1.42 Mbit/s" in shown
    assert "A night's changes lie" in shown, "what cold and warm are"


def test_when_it_ends(isthmus: Isthmus) -> None:
    (*_, warm) = planned(isthmus, *LINE, "--volume", "1MB", "--start", "22:30")["replication"]
    assert warm["ends"].endswith(" 22:30")
    (never, *_) = planned(isthmus, "--rate", "1bit", "--round-trip", "1d", "--volume", "1000000TB", "--start", "0:00")[
        "replication"
    ]
    assert never["ends"] == "never"


@pytest.fixture
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    with time_zone(getattr(request, "param", "CET-1CEST,M3.5.0,M10.5.0/3")):
        yield


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("now", "ends"),
    [
        (datetime(2026, 10, 20, 20), "Wed 2026-10-21 05:42"),
        (datetime(2026, 10, 24, 20), "Sun 2026-10-25 04:42"),
        (datetime(2026, 3, 28, 20), "Sun 2026-03-29 06:42"),
    ],
    ids=["no change", "back to winter", "to summer"],
)
def test_the_clock_on_the_wall_may_change_until_it_ends(now: datetime, ends: str) -> None:
    options = {"rate": "45Mbit", "round_trip": "100ms", "volume": "20GB", "start": "22:00", "window": "72KB"}
    others = dict.fromkeys(("distance", "site_rate", "within", "write_rate", "write_size", "table"))
    usual = {"loss": "0%", "mtu": 1500, "connections": 1, "reduction": "0%"}
    (first, *_) = compute({**others, **usual, **options}, now)["replication"]
    assert (first["seconds"], first["ends"]) == (pytest.approx(27_777.8), ends)


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("zone", ["XXX-24", "XXX+24:59:59"], indirect=True)
def test_whatever_zone_the_host_is_in_it_ends_some_time(isthmus: Isthmus) -> None:
    """A day or more from UTC is allowed by POSIX, but is no time zone of Python's."""
    (first, *_) = planned(isthmus, *LINE, "--volume", "20GB", "--start", "22:00", "--window", "72KB")["replication"]
    assert re.fullmatch(r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d 05:42", first["ends"])


def test_the_hosts_own_speed(isthmus: Isthmus) -> None:
    *_, warm = planned(isthmus, *LINE, "--volume", "1GB", "--site-rate", "800Mbit")["replication"]
    assert (warm["rate"], warm["seconds"]) == (800e6, 10)


def test_the_published_table(isthmus: Isthmus) -> None:
    table = planned(isthmus, "--table")["table"]
    assert table["windows"] == [72_000, 1_000_000, 2_000_000]
    assert table["rates"][1] == pytest.approx([8e9, 400e6, 160e6])


def test_the_published_zones(isthmus: Isthmus) -> None:
    zones = planned(isthmus, "--write-rate", "60MB/s", "--write-size", "4KB")["zones"]
    assert zones["write_rate"] == {"zone": "likely to help", "colour": "red"}
    assert zones["write_size"] == {"zone": "unlikely to help", "colour": "green"}
    assert zones["together"] == zones["write_size"], "one answer: both have to speak for it"
    assert [*planned(isthmus, "--write-size", "20KB")["zones"]] == ["write_size"]


def test_a_round_trip_that_light_cannot_make(isthmus: Isthmus) -> None:
    (note,) = planned(isthmus, "--rate", "1Gbit", "--round-trip", "10ms", "--distance", "6200mi")["notes"]
    assert note == "light needs 99.8 ms for 9,978 km of fibre and back, more than --round-trip: measure it with ping"
    assert planned(isthmus, *LINE, "--distance", "9000km")["notes"] == []


def test_a_line_that_one_connection_cannot_fill(isthmus: Isthmus) -> None:
    found = planned(isthmus, "--rate", "100Gbit", "--round-trip", "100ms")
    (note,) = found["notes"]
    assert note.startswith("one connection cannot fill such a line: it needs buffers of 2,500,001,792 bytes")
    assert found["buffers"]["sysctl"][0] == "net.ipv4.tcp_rmem = 4096 131072 2147483647"


def test_a_line_that_the_default_bounds_do_not_fill(isthmus: Isthmus) -> None:
    found = planned(isthmus, "--rate", "1Gbit", "--round-trip", "600ms", "--volume", "1TB", "--connections", "16")
    (note,) = found["notes"]
    assert note.startswith("Isthmus is held to 895 Mbit/s by the default of tunnel.unacked: isthmus doctor CONFIG")


def test_loss_that_bbr_does_not_bear(isthmus: Isthmus) -> None:
    (note,) = planned(isthmus, *LINE, "--loss", "6%")["notes"]
    assert note.startswith("above 5% loss BBR, too, gets less than the goodput")


def test_tables_for_a_terminal(isthmus: Isthmus) -> None:
    words = (*LINE, "--loss", "1%", "--volume", "2.18GiB", "--start", "22:30", "--table", "--write-rate", "40MB/s")
    shown = isthmus("plan", *words)
    assert (shown.exit_code, shown.stderr) == (0, "")
    for text in (
        "45 Mbit/s, 100 ms, 1 % loss",
        "a window of 72 KB allows",
        "5.76 Mbit/s",
        "CUBIC connections that fill the line",
        "562,500",
        "net.ipv4.tcp_rmem = 4096 131072 6291456",
        "7 min 16 s",
        "may help",
        "400 Mbit/s",
    ):
        assert text in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80, "fits a narrow terminal"


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ((), "there is nothing to compute; give --rate and --round-trip, or --write-rate, --write-size or --table"),
        (("--rate", "1Gbit"), "--round-trip is missing; a line has both, such as 45Mbit and 100ms"),
        (("--round-trip", "1s"), "--rate is missing; a line has both, such as 45Mbit and 100ms"),
        (("--volume", "1GB"), "--volume needs the line: add --rate and --round-trip"),
        (("--table", "--loss", "1%"), "--loss needs the line: add --rate and --round-trip"),
        (("--write-size", "4KB", "--site-rate", "1Gbit"), "--site-rate needs the line: add --rate and"),
        (("--rate", "fast", "--round-trip", "1s"), "--rate 'fast' is not a rate; write a number and one of bit, kbit"),
        (("--rate", "0bit", "--round-trip", "1s"), "--rate '0bit' is nothing; write a number"),
        (("--rate", "1MB", "--round-trip", "1s"), "--rate '1MB' is not a rate: the unit \"MB\" is unknown; write"),
        (("--rate", "1bit", "--round-trip", "0ms"), "--round-trip '0ms' is nothing; write"),
        ((*LINE, "--loss", "51%"), "--loss '51%' is more than 50%; write percent, such as"),
        ((*LINE, "--loss", "0.01"), "--loss '0.01' is not a percentage; write percent"),
        ((*LINE, "--mtu", "100"), "--mtu 100 is out of range; write 576 to 65535"),
        ((*LINE, "--connections", "0"), "--connections 0 is out of range; write 1 to 65536"),
        ((*LINE, "--window", "72"), "--window '72' is not a size; write"),
        ((*LINE, "--distance", "9lightyears"), "--distance '9lightyears' is not a distance: the unit"),
        ((*LINE, "--volume", "1GB", "--reduction", "101%"), "--reduction '101%' is more than 100%; write percent"),
        ((*LINE, "--volume", "1GB", "--start", "24:00"), "--start '24:00' is not a time of day; write hours"),
        ((*LINE, "--start", "22:30"), "--start is of a replication; add how much has changed, such as --volume 10GB"),
        ((*LINE, "--connections", "16"), "--connections is of a replication; add how much has changed"),
        ((*LINE, "--volume", "1GB", "--site-rate", "x"), "--site-rate 'x' is not a rate; write"),
        (("--within", "8h", "--volume", "1GB"), "--round-trip is missing; a line has both, such as"),
        (("--within", "8h", "--round-trip", "1s"), "--within is of a replication; add how much has changed"),
        (("--within", "8h", "--round-trip", "1s", "--volume", "1GB", "--start", "1:00"), "--start needs the line: add"),
        (("--write-rate", "40Mbit/s"), "--write-rate '40Mbit/s' is not bytes a second: the unit \"Mbit\" is unknown; "),
        (
            ("--write-rate", "40"),
            "--write-rate '40' is not bytes a second; write a number and one of B, KiB, MiB, GiB,",
        ),
        (("--write-size", "0B"), "--write-size '0B' is nothing; write"),
    ],
)
def test_one_clear_error(isthmus: Isthmus, words: tuple[str, ...], wrong: str) -> None:
    shown = isthmus("plan", *words)
    assert (shown.exit_code, shown.stdout) == (ExitCode.USAGE, "")
    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"isthmus: {wrong}")
