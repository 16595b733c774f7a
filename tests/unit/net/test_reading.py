"""At what rate the store gives what a peer's streams ask for, reckoned from how long its disk is read for it."""

import pytest

from proxy.net.reading import FAST, Reading

MB = 10**6


def waits(reading: Reading, disk: float, seconds: float, given: int) -> None:
    """A load takes so long, and brings so many bytes."""
    reading.begins(disk)
    reading.ended(disk + seconds)
    reading.gave(given)


def second(reading: Reading, number: int, waited: float, given: int) -> int | None:
    """That second, in which loads took so long and brought so many bytes: what is to be said at its end."""
    waits(reading, number, waited, given)
    return reading.rate(number + 1, number + 1)


def test_nothing_is_said_of_a_store_for_which_nobody_waits() -> None:
    reading = Reading()
    assert reading.rate(0.0, 1.0) is None
    reading.gave(500 * MB)
    assert reading.rate(0.0, 2.0) is None


def test_the_rate_is_what_streams_are_given_while_they_wait() -> None:
    """Not of the time in which they wait for something else."""
    assert second(Reading(), 0, 0.5, 2 * MB) == 4 * MB


def test_loads_that_overlap_are_waited_for_once() -> None:
    reading = Reading()
    reading.begins(0.0)
    reading.begins(0.2)
    reading.ended(0.6)
    reading.ended(0.8)
    reading.gave(4 * MB)
    assert reading.rate(0.8, 1.0) == 5 * MB


def test_what_the_disk_reads_for_others_is_waited_for_as_well() -> None:
    """But not what it read before this peer's loads were asked for, nor what it reads when there are none."""
    reading = Reading()
    reading.begins(1.0)
    reading.ended(2.0)
    reading.gave(4 * MB)
    assert reading.rate(9.0, 9.0) == 4 * MB


def test_a_load_that_has_not_ended_is_waited_for_all_the_same() -> None:
    reading = Reading()
    reading.begins(0.0)
    reading.gave(4 * MB)
    told = [reading.rate(now, now) for now in range(1, 30)]
    assert told[:2] == [4 * MB, 64 << 10]
    assert set(told[20:]) == {None, 64 << 10}, "as little as is ever said"
    assert not reading.idle
    reading.ended(30.0)
    assert reading.idle


def test_a_few_loads_now_and_then_say_nothing_against_a_disk() -> None:
    """Each brings one chunk, and takes longer than it would beside others."""
    reading = Reading()
    assert [second(reading, number, 0.1, MB // 4) for number in range(100)] == [None] * 100


def test_a_few_loads_say_enough_for_one() -> None:
    """What is limited to what a slow disk gives can show no more."""
    reading = Reading()
    assert second(reading, 0, 1.0, 64 << 10) == 64 << 10
    told = [second(reading, number, 0.001, MB) for number in range(1, 15)]
    assert 0 in told
    assert told[-1] in (None, 0)


def test_it_is_said_again_when_it_has_changed() -> None:
    reading = Reading()
    assert [second(reading, number, 1.0, 4 * MB) for number in range(10)] == [4 * MB] + [None] * 9
    assert [second(reading, number, 1.0, 8 * MB) for number in range(10, 19)] == [8 * MB] + [None] * 8


def test_what_it_gave_in_order_does_not_hide_how_slow_it_is_otherwise() -> None:
    reading = Reading()
    assert second(reading, 0, 0.125, 50 * MB) is None, "no news: it holds nobody up"
    assert second(reading, 1, 1.0, 2 * MB) == 2 * MB
    assert second(reading, 2, 0.125, 50 * MB) == 0


def test_it_is_said_again_now_and_then_since_lanes_race() -> None:
    """The peer may have heard first that it is fast, and then, by a lane that stood still, that it is slow."""
    reading = Reading()
    assert second(reading, 0, 1.0, 4 * MB) == 4 * MB
    told = [second(reading, number, 0.0, 50 * MB) for number in range(1, 30)]
    assert [rate for rate in told if rate is not None][-3:] == [0, 0, 0]
    silent = [reading.rate(30.0, now) for now in range(31, 90)]
    assert set(silent[20:]) == {None}, "not while nothing is asked of it"


@pytest.mark.parametrize("waited", [0.0, 0.01])
def test_a_store_that_has_become_fast_holds_nobody_up(waited: float) -> None:
    reading = Reading()
    assert second(reading, 0, 1.0, 4 * MB) == 4 * MB
    told = [second(reading, number, waited, 50 * MB) for number in range(1, 10)]
    assert [rate for rate in told if rate is not None][-1] == 0


def test_a_store_that_gives_much_holds_nobody_up() -> None:
    reading = Reading()
    assert second(reading, 0, 1.0, round(FAST)) is None
    assert second(reading, 1, 1.0, round(FAST) // 2) == round(FAST) // 2
