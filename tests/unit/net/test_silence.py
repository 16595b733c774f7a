"""When the rest of something is waited for no more, by a clock that the tests move."""

from typing import Any

import pytest

from proxy.net.silence import Silence
from tests.unit.net.loop import Loop

LONGEST = 1.0


class Stage:
    """Its owner's part: what is gathered, whether something else is waited for, and whether it was let go."""

    def __init__(self) -> None:
        self.gathered = 0
        self.interrupted = False
        self.let_go = 0
        self.silence = Silence(
            lambda: self.gathered,
            lambda: self.gathered,
            self._let_go,
            seconds=lambda: LONGEST,
            interrupted=lambda: self.interrupted,
        )

    def comes(self, count: int) -> None:
        self.gathered += count
        self.silence.watch()

    def _let_go(self) -> None:
        self.let_go += 1
        self.gathered = 0


@pytest.fixture
def stage(loop: Any) -> Stage:
    return Stage()


def test_a_text_that_stops_is_let_go(loop: Loop, stage: Stage) -> None:
    stage.comes(100)
    loop.run(LONGEST - 0.1)
    assert stage.let_go == 0
    loop.run(0.2)
    assert stage.let_go == 1


def test_one_that_goes_on_is_waited_for(loop: Loop, stage: Stage) -> None:
    for _ in range(20):
        stage.comes(100)
        loop.run(LONGEST * 0.4)
    assert stage.let_go == 0
    loop.run(LONGEST * 2)
    assert stage.let_go == 1


def test_one_that_is_whole_in_time_is_not(loop: Loop, stage: Stage) -> None:
    stage.comes(100)
    loop.run(LONGEST / 2)
    stage.gathered = 0
    loop.run(10)
    assert stage.let_go == 0
    assert not loop.due


def test_an_outage_is_no_pause(loop: Loop, stage: Stage) -> None:
    stage.interrupted = True
    stage.comes(100)
    loop.run(10)
    assert stage.let_go == 0
    stage.interrupted = False
    loop.run(LONGEST * 2)
    assert stage.let_go == 1


def test_after_the_end_nothing_is(loop: Loop, stage: Stage) -> None:
    stage.comes(100)
    stage.silence.stop()
    loop.run(10)
    assert stage.let_go == 0


def test_where_nothing_is_gathered_there_is_no_timer(loop: Loop, stage: Stage) -> None:
    stage.comes(0)
    assert not loop.due
