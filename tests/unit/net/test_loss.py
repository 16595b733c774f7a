"""Whether a line loses enough for copies of short frames to be worth while."""

import random

import pytest

from proxy.net.loss import AGAIN, HOLD, LOSSY, Loss

SOONEST, LATEST = AGAIN


def judged(loss: float, packets: int, seconds: int, seed: int = 1) -> list[bool]:
    """So many packets a second over a line that loses that share of them, for so long."""
    rng, line = random.Random(seed), Loss()
    sent = lost = 0
    found = []
    for second in range(seconds):
        sent += packets
        lost += sum(rng.random() < loss for _ in range(packets))
        found.append(line.see(float(second), sent, lost))
    return found


@pytest.mark.parametrize("packets", [50, 3000, 80_000])
def test_a_line_that_loses_one_in_a_hundred_is_found_soon_and_stays(packets: int) -> None:
    found = judged(0.01, packets, 40)
    assert all(found[20:])


@pytest.mark.parametrize("packets", [0, 3000, 80_000])
def test_one_that_loses_hardly_any_is_none(packets: int) -> None:
    assert not any(judged(LOSSY / 10, packets, 40))


def test_it_is_taken_to_lose_more_for_a_while() -> None:
    line = Loss()
    line.see(1.0, 100, 3)
    assert line.see(1.0 + SOONEST, 200, 6)
    assert line.see(SOONEST + HOLD, 200, 6)
    assert not line.see(1.0 + SOONEST + HOLD, 200, 6)


def test_losses_that_go_on_keep_it_so() -> None:
    assert all(judged(0.01, 3000, round(2 * LATEST + HOLD))[20:])


@pytest.mark.parametrize("after", [SOONEST - 1, LATEST + 1])
def test_a_queue_that_overflows_now_and_then_is_none(after: float) -> None:
    line = Loss()
    assert not line.see(1.0, 80_000, 4_000)
    assert not line.see(1.0 + after, 160_000, 8_000)
    assert not line.see(2.0 + after, 240_000, 8_000)


def test_one_packet_of_many_is_chance() -> None:
    line = Loss()
    line.see(1.0, 700, 1)
    assert not line.see(1.0 + SOONEST, 1400, 2)


def test_what_was_lost_before_much_was_sent_is_forgotten() -> None:
    line = Loss()
    line.see(1.0, 100, 50)
    line.see(2.0, 10_000, 50)
    assert not line.see(1.0 + SOONEST, 10_700, 51)


def test_counters_that_begin_anew_are_no_loss() -> None:
    line = Loss()
    line.see(1.0, 1 << 32, 1000)
    assert not line.see(1.0 + SOONEST, 1000, 0)
    assert not line.see(2.0 + SOONEST, 2000, 0)


def test_what_turns_out_to_have_arrived_was_not_lost() -> None:
    line = Loss()
    line.see(1.0, 100, 3)
    line.see(2.0, 200, 0)
    assert not line.see(1.0 + SOONEST, 700, 1)


def test_that_one_of_several_was_not_lost_is_no_loss() -> None:
    line = Loss()
    line.see(1.0, 100, 3)
    assert not line.see(1.0 + SOONEST, 200, 2)


def test_nor_does_it_outweigh_what_is_lost_later() -> None:
    """What it was taken for is forgotten by then."""
    line = Loss()
    line.see(1.0, 100, 10)
    line.see(2.0, 10_000, 0)
    line.see(100.0, 10_100, 20)
    assert line.see(100.0 + SOONEST, 10_200, 40)
