"""How a line is written, and what is refused with which words."""

import json

import pytest

from bench.wan import Line, WanFailure, Way


def test_both_ways_alike() -> None:
    line = Line.of(rate="45Mbit", delay="50ms", loss="1%", burst="3", queue="1MiB", path_mtu="1280B")
    assert line.west == line.east == Way(45_000_000, 0.05, 0.0, 0.01, 3.0, queue=1 << 20, path_mtu=1280)


def test_a_path_mtu_may_be_written_as_an_mtu() -> None:
    assert Way.of(path_mtu="1280") == Way.of(path_mtu="1280B")


def test_a_way_of_its_own() -> None:
    line = Line.of(rate="45Mbit").changed("east", rate="2Mbit", loss="0.1%")
    assert (line.west.rate, line.west.loss) == (45_000_000, 0)
    assert (line.east.rate, line.east.loss) == (2_000_000, 0.001)


def test_json_and_back() -> None:
    line = Line.of(9000, rate="1Gbit", jitter="3ms").changed("west", duplicate="5%")
    assert Line.from_dict(json.loads(json.dumps(line.as_dict()))) == line


def test_the_default_queue_is_what_a_round_trip_carries() -> None:
    assert Way.of(rate="45Mbit", delay="50ms").queue_bytes(1500) == 562_500
    assert Way.of(rate="1Mbit").queue_bytes(1500) == 64 << 10
    assert Way.of(rate="1Mbit").queue_bytes(9000) == 90_000
    assert Way.of(queue="100kB").queue_bytes(1500) == 100_000


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"loss": "1"}, r"loss '1' is not a percentage; write a percentage"),
        ({"loss": "101%"}, "more than all"),
        ({"rate": "45"}, "rate '45' is not a rate; write a number and one of bit"),
        ({"rate": "1bit"}, "rate 1bit is not from 8kbit to 10Gbit"),
        ({"delay": "11s"}, "delay 11s is not from 0s to 10s"),
        ({"path_mtu": "70000"}, "path_mtu 70000 is not from 0 to 65535"),
        ({"path_mtu": "large"}, "path_mtu 'large' is not a size; write bytes, such as \"1400\""),
        ({"burst": "0.5"}, "burst 0.5 is not from 1"),
        ({"loss": "90%", "burst": "2"}, "does not go with runs of 2 packets; make burst larger"),
        ({"queue": "1000B"}, 'queue 1kB toward west is shorter than one packet; write at least "1500B"'),
        ({"colour": "red"}, "a line has no colour; it has rate, "),
    ],
)
def test_refusals(texts: dict[str, str], words: str) -> None:
    with pytest.raises(WanFailure, match=words):
        Line.of(1500, **texts)


def test_more_refusals() -> None:
    with pytest.raises(WanFailure, match="mtu 100 is not from 576"):
        Line.of(100)
    with pytest.raises(WanFailure, match="no way toward north; write west, east or both"):
        Line.of().changed("north", loss="1%")
