"""At what rate the store gives what a peer's streams ask for, reckoned from how long they wait for its disk."""

import pytest

from proxy.net.reading import FAST, Reading

MB = 10**6


def waits(reading: Reading, start: float, seconds: float, given: int) -> None:
    """A load takes so long, and brings so many bytes."""
    reading.begins(start)
    reading.read(start, start + seconds)
    reading.ended()
    reading.gave(given)


def test_nothing_is_said_of_a_store_for_which_nobody_waits() -> None:
    reading = Reading()
    assert reading.rate(1.0) is None
    reading.gave(500 * MB)
    assert reading.rate(2.0) is None


def test_the_rate_is_what_streams_are_given_while_they_wait() -> None:
    """Not of the time in which they wait for something else."""
    reading = Reading()
    waits(reading, 0.0, 0.5, 2 * MB)
    assert reading.rate(1.0) == 4 * MB


def test_loads_that_overlap_are_waited_for_once() -> None:
    reading = Reading()
    reading.begins(0.0)
    reading.begins(0.2)
    for began, ended in [(0.0, 0.6), (0.6, 0.8)]:
        reading.read(began, ended)
        reading.ended()
    reading.gave(4 * MB)
    assert reading.rate(1.0) == 5 * MB


def test_what_the_disk_reads_for_others_is_waited_for_as_well() -> None:
    """But not what it read before this peer's loads were asked for, nor what it reads when there are none."""
    reading = Reading()
    reading.read(0.0, 1.0)
    reading.begins(1.5)
    reading.read(1.0, 2.0)
    reading.read(2.0, 2.5)
    reading.ended()
    reading.read(2.5, 9.0)
    reading.gave(4 * MB)
    assert reading.rate(9.0) == 4 * MB


def test_a_busy_loop_does_not_make_the_disk_seem_slow() -> None:
    """Always a load of which the loop has not been told that it ended, while the disk rests most of the time."""
    reading = Reading()
    reading.begins(0.0)
    for nth in range(32):
        reading.begins(nth / 16)
        reading.read(nth / 16, nth / 16 + 1 / 64)
        reading.ended()
        reading.gave(MB // 4)
    assert not reading.idle
    assert reading.rate(2.0) == 16 * MB, "in the half second in which the disk was read"


def test_a_load_that_has_not_ended_is_waited_for_all_the_same() -> None:
    reading = Reading()
    reading.begins(0.0)
    reading.read(0.0, 1.0)
    reading.gave(4 * MB)
    assert reading.rate(1.0) == 4 * MB
    told = []
    for second in range(2, 20):
        reading.read(0.0, second)
        told.append(reading.rate(second))
    assert told[0] == pytest.approx(4 * MB / 3, rel=0.01)
    assert told[-1] is None
    reading.read(0.0, 20.0)
    reading.ended()
    waits(reading, 20.0, 1.0, 1)
    assert reading.rate(21.0) is None, "no news: as little as is ever said"


def test_a_little_is_gathered_until_it_means_something() -> None:
    reading = Reading()
    for second in range(4):
        assert reading.rate(second) is None
        waits(reading, second, 0.0625, MB // 4)
    assert reading.rate(4.0) == 4 * MB


def test_it_is_said_again_when_it_has_changed() -> None:
    reading = Reading()
    for second in range(10):
        waits(reading, second, 1.0, 4 * MB)
        assert reading.rate(second + 1) == (None if second else 4 * MB)
    told = []
    for second in range(10, 30):
        waits(reading, second, 1.0, 8 * MB)
        told.append(reading.rate(second + 1))
    assert [rate for rate in told[:10] if rate] == pytest.approx([6 * MB, 7.5 * MB], rel=0.001)


def test_it_is_said_again_now_and_then_since_lanes_race() -> None:
    """The peer may have heard first that it is fast, and then, by a lane that stood still, that it is slow."""
    reading = Reading()
    waits(reading, 0.0, 1.0, 4 * MB)
    assert reading.rate(1.0) == 4 * MB
    told = []
    for second in range(1, 30):
        waits(reading, second, 0.0, 50 * MB)
        told.append(reading.rate(second + 1))
    assert told.count(0) == 3
    assert [reading.rate(second) for second in range(31, 90)][20:] == [None] * 39, "not while nothing is asked of it"


@pytest.mark.parametrize("waited", [0.0, 0.01])
def test_a_store_that_has_become_fast_holds_nobody_up(waited: float) -> None:
    reading = Reading()
    waits(reading, 0.0, 1.0, 4 * MB)
    assert reading.rate(1.0) == 4 * MB
    told = []
    for second in range(1, 20):
        waits(reading, second, waited, 50 * MB)
        told.append(reading.rate(second + 1))
    assert 0 in told
    assert told[-1] is None


def test_a_store_that_gives_much_holds_nobody_up() -> None:
    reading = Reading()
    waits(reading, 0.0, 1.0, round(FAST))
    assert reading.rate(1.0) is None
    waits(reading, 1.0, 1.0, round(FAST) // 2)
    assert reading.rate(2.0) == pytest.approx(FAST * 2 / 3, rel=0.01)
