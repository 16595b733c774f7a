"""Many misses suspend references, at times that the tests say; and a peer is proven by what was found."""

import pytest

from proxy.reduction.reliability import Reliability


def suspended(at: float) -> Reliability:
    reliability = Reliability()
    reliability.missed(65, now=at)
    return reliability


def referring_at(reliability: Reliability, *times: float) -> list[bool]:
    found = []
    for now in times:
        reliability.tick(now)
        found.append(reliability.referring)
    return found


def test_few_misses_suspend_nothing() -> None:
    reliability = Reliability()
    reliability.missed(64, now=0)
    assert reliability.referring


@pytest.mark.parametrize("references", [0, 65, 1024])
def test_many_misses_suspend(references: int) -> None:
    reliability = Reliability()
    reliability.referred(references)
    reliability.missed(64, now=0)
    reliability.missed(1, now=0)
    assert not reliability.referring


@pytest.mark.parametrize(("between", "goes_on"), [(50, True), (25, True), (8, False)])
def test_it_is_the_share_of_misses_that_counts(between: int, goes_on: bool) -> None:
    """At most 64 misses are forgiven, and one in twenty references of the last thousand or so."""
    reliability = Reliability()
    for at in range(10_000):
        reliability.referred(between)
        reliability.missed(1, now=at)
    assert reliability.referring == goes_on


@pytest.mark.parametrize(("under_way", "goes_on"), [(3000, True), (1000, False)])
def test_what_is_missed_at_once_is_a_share_of_all_that_is_under_way(under_way: int, goes_on: bool) -> None:
    """A peer asks at once for what many batches lack, all of which were sent before."""
    reliability = Reliability()
    for _ in range(100):
        reliability.referred(under_way)
        reliability.missed(100, now=0)
        for part in range(10):
            reliability.ended(under_way // 10, 100 if part == 4 else 0)
    assert reliability.referring == goes_on


def test_what_is_missed_little_by_little_adds_up_until_a_suspension_is_over() -> None:
    reliability = Reliability()
    seen = []
    for _ in range(3):
        reliability.referred(100)
        reliability.missed(30, now=0)
        reliability.ended(100, 30)
        seen.append(reliability.referring)
    assert seen == [True, True, False]
    reliability.tick(30)
    reliability.missed(64, now=30)
    assert reliability.referring


def test_what_was_found_long_ago_does_not_hide_a_flood() -> None:
    reliability = Reliability()
    for _ in range(1000):
        reliability.referred(100)
        reliability.ended(100, 0)
    reliability.referred(200)
    reliability.missed(200, now=0)
    assert not reliability.referring


def test_a_suspension_ends_after_thirty_seconds() -> None:
    reliability = suspended(at=1000)
    assert referring_at(reliability, 1000, 1029.9, 1030) == [False, False, True]


def test_a_single_miss_that_cannot_be_answered_suspends() -> None:
    """It has cost a stream, and each further one would cost another, however many references were right."""
    reliability = Reliability()
    reliability.referred(1024)
    reliability.gone(now=1000)
    assert referring_at(reliability, 1000, 1029.9, 1030) == [False, False, True]


def test_misses_prolong_a_suspension() -> None:
    """They answer what was referred to before it, and say that the peer still lacks things."""
    reliability = suspended(at=1000)
    reliability.missed(1, now=1020)
    assert referring_at(reliability, 1049, 1050) == [False, True]


def test_after_a_suspension_it_counts_anew() -> None:
    reliability = suspended(at=1000)
    reliability.missed(1000, now=1001)
    reliability.tick(1031)
    reliability.missed(64, now=1031)
    assert reliability.referring


def test_a_peer_is_proven_by_what_was_found_and_a_miss_halves_that() -> None:
    reliability, proven = Reliability(), []
    for found, misses in ((31 << 20, 0), (1 << 20, 0), (0, 1), (4 << 30, 5), (0, 1)):
        reliability.found(found)
        for _ in range(misses):
            reliability.missed(1, now=0)
        proven.append(reliability.proven >> 20)
    assert proven == [31, 32, 16, 32, 16], "of all that was found 1 GiB counts"
