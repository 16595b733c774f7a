"""Connections that cannot be made: what is remembered of them, and for how long."""

from itertools import count

import pytest

from proxy.observe.refusals import NOT_EXPORTED, REFUSALS_MAX, UNREACHABLE, WORDS_MAX, Refusals
from proxy.observe.snapshot import RefusalStatus

EXPORT, ADDRESS = "export array", "10.0.0.5:3260"


@pytest.fixture
def refusals() -> Refusals:
    """Its clock goes on by a second each time that it is asked."""
    return Refusals(count(0.0).__next__)


def test_what_is_refused_again_is_counted_until_one_succeeds(refusals: Refusals) -> None:
    for words in ("no answer in time", "Connection refused"):
        refusals.refused(EXPORT, ADDRESS, UNREACHABLE, words)
    assert refusals.status() == [RefusalStatus(EXPORT, ADDRESS, UNREACHABLE, "Connection refused", 2, 1.0)]
    refusals.connected(EXPORT, ADDRESS)
    assert refusals.status() == []
    refusals.refused(EXPORT, ADDRESS, UNREACHABLE, "Connection refused")
    assert [each.count for each in refusals.status()] == [1]
    assert refusals.counts == {UNREACHABLE: 3, NOT_EXPORTED: 0}


def test_an_address_that_answers_says_nothing_of_another(refusals: Refusals) -> None:
    refusals.refused(EXPORT, ADDRESS, UNREACHABLE, "no answer in time")
    refusals.connected(EXPORT, "10.0.0.6:3260")
    assert [each.asked for each in refusals.status()] == [ADDRESS]


def test_a_connection_that_ended_otherwise_was_not_refused(refusals: Refusals) -> None:
    refusals.refused("forward array", "array", "origin_reset", "the array reset its connection")
    assert (refusals.status(), set(refusals.counts.values())) == ([], {0})


def test_what_a_peer_can_have_remembered_is_bounded(refusals: Refusals) -> None:
    for port in range(2 * REFUSALS_MAX):
        refusals.refused(EXPORT, f"10.0.0.5:{port}", UNREACHABLE, "x" * 10_000)
    found = refusals.status()
    assert [each.asked for each in found] == [f"10.0.0.5:{port}" for port in range(REFUSALS_MAX, 2 * REFUSALS_MAX)]
    assert {len(each.words) for each in found} == {WORDS_MAX}
