"""What a peer sends takes its part of a round of the loop, and the rest of it waits for the next."""

from dataclasses import dataclass, field

import pytest

from proxy.net.rounds import LONGEST, Rounds
from tests.unit.net.loop import Clock, Loop


@dataclass
class Work:
    """Steps that take a third of what there is, each."""

    rounds: Rounds
    clock: Clock
    left: int
    done: list[str]
    name: str = ""
    waits: bool = field(default=False, init=False)

    def go_on(self) -> None:
        self.waits = False
        with self.rounds:
            while self.left and not self.waits:
                self.left -= 1
                self.clock.now += LONGEST / 2.99
                self.done.append(self.name)
                if self.rounds.over:
                    self.waits = True
                    self.rounds.wait(self.go_on)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rounds(loop: Loop, clock: Clock) -> Rounds:
    return Rounds(clock)


def test_who_has_used_up_its_time_goes_on_in_the_next_round(rounds: Rounds, clock: Clock, loop: Loop) -> None:
    work = Work(rounds, clock, 8, [])
    work.go_on()
    left = [work.left]
    for _ in range(3):
        loop.next_round()
        left.append(work.left)
    assert left == [5, 2, 0, 0]


def test_time_is_that_of_all_together_and_each_has_its_turn(rounds: Rounds, clock: Clock, loop: Loop) -> None:
    done: list[str] = []
    for name in "abc":
        Work(rounds, clock, 6, done, name).go_on()
    seen = ["".join(done)]
    for _ in range(7):
        done.clear()
        loop.next_round()
        seen.append("".join(done))
    assert seen == ["aaabc", "a", "bbb", "ccc", "aab", "ccb", "", ""]


def test_who_takes_more_than_a_round_at_once_lets_as_many_pass(rounds: Rounds, clock: Clock, loop: Loop) -> None:
    """Some legal frames take twenty times as long."""
    with rounds:
        clock.now += 20.5 * LONGEST
    went_on: list[bool] = []
    rounds.wait(lambda: went_on.append(True))
    for _ in range(19):
        loop.next_round()
    assert not went_on
    loop.next_round()
    assert went_on


def test_a_site_that_was_stopped_meanwhile_lets_no_million_rounds_pass(
    rounds: Rounds, clock: Clock, loop: Loop
) -> None:
    """Eight hours took eight seconds of a core, in which nothing of the peer was heard; a weekend took its lanes."""
    with rounds:
        clock.now += 8 * 3600.0
    went_on: list[bool] = []
    rounds.wait(lambda: went_on.append(True))
    for _ in range(round(1.0 / LONGEST)):
        loop.next_round()
    assert went_on


def test_what_others_do_between_does_not_count(rounds: Rounds, clock: Clock) -> None:
    for _ in range(2):
        with rounds:
            clock.now += LONGEST / 3
        clock.now += LONGEST
        assert not rounds.over
    with rounds:
        clock.now += LONGEST / 3
        assert rounds.over
    assert rounds.over


def test_work_within_work_counts_once(rounds: Rounds, clock: Clock) -> None:
    with rounds:
        with rounds:
            clock.now += LONGEST / 2
        assert not rounds.over
        clock.now += LONGEST / 3
    assert not rounds.over


def test_little_work_costs_the_loop_nothing(rounds: Rounds, clock: Clock, loop: Loop) -> None:
    with rounds:
        clock.now += LONGEST / 5
    assert not loop.due
    with rounds:
        clock.now += LONGEST / 5
    assert len(loop.due) == 1
    loop.next_round()
    assert not loop.due
    with rounds:
        clock.now += LONGEST * 0.9
    assert not rounds.over


def test_one_that_fails_keeps_no_other_from_going_on(rounds: Rounds, clock: Clock, loop: Loop) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    done: list[str] = []
    rounds.wait(fail)
    rounds.wait(lambda: done.append("other"))
    with pytest.raises(ZeroDivisionError):
        loop.next_round()
    loop.next_round()
    assert done == ["other"]


def test_an_error_within_leaves_the_count_right(rounds: Rounds, clock: Clock) -> None:
    def work() -> None:
        with rounds:
            clock.now += LONGEST / 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    clock.now += LONGEST
    assert not rounds.over
