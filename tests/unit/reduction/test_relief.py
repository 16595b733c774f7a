"""How much of what a peer's slow store has to read may be under way to it, and when that is not worth it."""

from proxy.reduction.relief import LEAST, Relief

MIB = 1 << 20
RATE = 10 * MIB
ROUND_TRIP = 0.1
FITS = round(RATE * 0.2)
"""What such a store gives in a round trip and a tenth of a second."""


def told(rate: int = RATE) -> Relief:
    relief = Relief()
    relief.told(rate)
    relief.tick(ROUND_TRIP)
    return relief


def spend(relief: Relief, seconds: int, relieved: int) -> None:
    """So many bytes went literally in each second."""
    for _ in range(seconds):
        relief.relieved(relieved)
        relief.tick(ROUND_TRIP)


def test_without_a_word_of_the_peer_nothing_is_limited() -> None:
    assert not Relief().active
    assert not told(0).active


def test_what_the_store_gives_in_a_moment_may_be_under_way() -> None:
    relief = told()
    assert relief.active
    assert relief.admits(FITS - 1)
    assert not relief.admits(FITS + 2)


def test_streams_share_it() -> None:
    relief = told()
    for _ in range(4):
        relief.note(0, 1000)
    relief.note(1000, 2000)
    assert relief.admits(FITS // 4 - 1)
    assert not relief.admits(FITS // 4 + 2)
    for _ in range(3):
        relief.note(1000, 0)
    assert relief.admits(FITS - 1)


def test_a_little_may_be_under_way_on_each_stream() -> None:
    relief = told(1)
    assert relief.admits(LEAST)
    assert not relief.admits(LEAST + 1)


def test_it_is_over_when_the_peer_says_so() -> None:
    relief = told()
    relief.told(0)
    assert not relief.active


def test_a_line_that_carries_little_beside_is_left_to_what_is_new_for_a_minute() -> None:
    relief = told()
    active = []
    for _ in range(1, 75):
        spend(relief, 1, RATE // 5 if relief.active else 0)
        active.append(relief.active)
    assert active == [True] * 9 + [False] * 60 + [True] * 5


def test_each_second_is_judged_by_the_rate_that_held_then() -> None:
    relief = told()
    spend(relief, 9, RATE * 2 // 3)
    relief.told(RATE * 10)
    spend(relief, 1, RATE * 2 // 3)
    assert relief.active
    relief.told(RATE)
    spend(relief, 9, RATE // 5)
    relief.told(1)
    spend(relief, 1, RATE // 5)
    assert not relief.active


def test_a_line_that_carries_much_beside_goes_on_doing_so() -> None:
    relief = told()
    spend(relief, 100, RATE * 2 // 3)
    assert relief.active


def test_seconds_without_anything_known_count_for_nothing() -> None:
    """The source may have paused, or sent what is new."""
    relief = told()
    for _ in range(10):
        spend(relief, 1, RATE * 2 // 3)
        spend(relief, 9, 0)
    assert relief.active
