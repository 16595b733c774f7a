"""The published zones: will a faster line help?"""

import pytest

from proxy.plan.zones import Zone, by_rate, by_size, together


@pytest.mark.parametrize(
    ("megabytes", "zone", "colour"),
    [
        (0, Zone.UNLIKELY, "green"),
        (34.9, Zone.UNLIKELY, "green"),
        (35, Zone.PERHAPS, "yellow"),
        (50, Zone.PERHAPS, "yellow"),
        (50.1, Zone.LIKELY, "red"),
        (441, Zone.LIKELY, "red"),
    ],
)
def test_by_the_sum_of_write_throughput(megabytes: float, zone: Zone, colour: str) -> None:
    assert by_rate(megabytes * 1e6) is zone
    assert zone.colour == colour


@pytest.mark.parametrize(
    ("size", "zone"),
    [
        (512, Zone.UNLIKELY),
        (7_999, Zone.UNLIKELY),
        (8_192, Zone.PERHAPS),
        (16_384, Zone.PERHAPS),
        (16_385, Zone.LIKELY),
    ],
)
def test_by_the_average_size_of_a_write(size: float, zone: Zone) -> None:
    assert by_size(size) is zone


@pytest.mark.parametrize("one", Zone)
def test_both_have_to_say_so(one: Zone) -> None:
    """Much that is written in small pieces gains as little as little in large ones."""
    assert together(one, Zone.UNLIKELY) is together(Zone.UNLIKELY, one) is Zone.UNLIKELY
    assert together(one, Zone.LIKELY) is together(Zone.LIKELY, one) is one
    assert together(one, one) is one
