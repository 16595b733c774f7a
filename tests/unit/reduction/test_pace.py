"""When bytes of a source may be held, and what ends that."""

from proxy.reduction.pace import HOLD, Pace

SOON = HOLD / 2
LATE = HOLD * 2


def streaming() -> tuple[Pace, float]:
    """A pace of a one-way source that is slower than we are, and the time."""
    pace, now = Pace(), 100.0
    while not pace.holds:
        flushed(pace, now)
        now += SOON
        pace.received(now, bulk=True)
        assert now < 101
    return pace, now


def flushed(pace: Pace, now: float) -> None:
    pace.received(now, bulk=True)
    pace.flushed(now)


def test_a_new_source_is_not_held() -> None:
    pace = Pace()
    pace.received(1.0, bulk=True)
    assert not pace.holds


def test_a_slow_one_way_source_is_held() -> None:
    assert streaming()[0].holds


def test_a_source_that_pauses_is_not() -> None:
    pace, now = Pace(), 0.0
    for _ in range(100):
        flushed(pace, now)
        now += LATE
        assert not pace.holds


def test_one_real_pause_ends_it() -> None:
    pace, now = streaming()
    pace.flushed(now)
    pace.received(now + LATE, bulk=True)
    assert not pace.holds


def test_a_source_that_could_not_be_read_meanwhile_has_not_paused() -> None:
    pace, now = streaming()
    pace.flushed(now)
    pace.waits(now + LATE)
    pace.received(now + LATE + SOON, bulk=True)
    assert pace.holds


def test_long_experience_outlives_some_pauses_but_not_many() -> None:
    pace, now = streaming()
    for _ in range(1000):
        flushed(pace, now)
        now += SOON
    pauses = 0
    while pace.holds:
        flushed(pace, now)
        now += LATE
        pace.received(now, bulk=True)
        pauses += 1
    assert 3 <= pauses <= 6


def test_an_answer_ends_it() -> None:
    pace, _ = streaming()
    pace.answered()
    assert not pace.holds


def test_a_small_read_ends_it() -> None:
    pace, now = streaming()
    pace.received(now, bulk=False)
    assert not pace.holds


def test_a_conversation_is_never_held() -> None:
    pace, now = Pace(), 0.0
    for _ in range(1000):
        flushed(pace, now)
        pace.answered()
        now += SOON
        assert not pace.holds


def test_after_a_hold_in_vain_it_takes_long() -> None:
    pace, now = streaming()
    pace.held_in_vain()
    for _ in range(200):
        flushed(pace, now)
        now += SOON
        pace.answered()
        assert not pace.holds
    while not pace.holds:
        flushed(pace, now)
        now += SOON
        assert now < 120


def test_pauses_do_not_shorten_that() -> None:
    """A count below 0, halved, would be nearer to the next hold in vain."""
    pace, now = streaming()
    pace.held_in_vain()
    for _ in range(10):
        flushed(pace, now)
        now += LATE
    for _ in range(200):
        flushed(pace, now)
        now += SOON
        assert not pace.holds
