"""When lanes are dialled with short packets, when that is called the path's fault, and when it is tried without."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from proxy.net.long_packets import LongPackets
from tests.simulation.clockwork import played

MARK = 46
HOUR = 3600.0


@dataclass
class Lane:
    short: bool = False
    up: bool = False
    silent: bool = False
    mark: int = MARK
    late: bool = False

    def close(self, *_: object, **__: object) -> None:
        self.up = False


@dataclass
class Scene:
    """A dialler's attempts, of which this says what becomes of them."""

    peer: Any = field(default_factory=lambda: SimpleNamespace(lanes=[], short_packets=False))
    trials: list[int] = field(default_factory=list)
    tried: LongPackets = field(init=False)

    def __post_init__(self) -> None:
        self.tried = LongPackets(self.peer, self.trials.append)

    def unanswered(self, *, connected: bool = True, short: bool = False) -> None:
        self.tried.unanswered(Lane(short), connected=connected, trial=False, short_passed=False)  # type: ignore[arg-type]

    def unanswered_trial(self, *, connected: bool = True, short_passed: bool = True) -> None:
        self.tried.unanswered(Lane(), connected=connected, trial=True, short_passed=short_passed)  # type: ignore[arg-type]

    def comes_up(self, *, short: bool = False, trial: bool = False) -> Lane:
        lane = Lane(short, up=True)
        self.peer.lanes.append(lane)
        self.tried.answered(lane, trial=trial)  # type: ignore[arg-type]
        return lane


@pytest.mark.parametrize(
    ("connected", "short", "lost"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_where_only_tcp_answers_short_packets_are_tried_next(connected: bool, short: bool, lost: bool) -> None:
    """And if these are not answered either, long ones again."""
    scene = Scene()
    scene.unanswered(connected=connected, short=short)
    assert scene.tried.seem_lost is lost
    assert not scene.peer.short_packets


def test_a_lane_with_short_packets_calls_for_a_trial_until_the_path_is_to_blame() -> None:
    scene = Scene()
    scene.comes_up(short=True)
    assert scene.trials == [MARK]
    scene.unanswered_trial()
    assert scene.peer.short_packets
    scene.comes_up(short=True)
    assert scene.trials == [MARK]


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_a_trial_says_nothing_while_short_packets_do_not_pass_either(before: bool, after: bool) -> None:
    scene = Scene()
    scene.comes_up(short=True).silent = not after
    scene.unanswered_trial(short_passed=before)
    assert not scene.peer.short_packets
    assert scene.trials == [MARK, MARK]


def test_nor_is_it_repeated_once_no_lane_has_short_packets() -> None:
    scene = Scene()
    scene.comes_up()
    scene.unanswered_trial()
    assert not scene.trials


def test_where_long_packets_pass_after_all_lanes_with_short_ones_end() -> None:
    scene = Scene()
    scene.unanswered()
    short = scene.comes_up(short=True)
    scene.unanswered_trial()
    long = scene.comes_up(trial=True)
    assert (short.up, long.up) == (False, True)
    assert [scene.tried.seem_lost, scene.peer.short_packets] == [False, False]


def test_when_an_operator_asks_there_is_a_trial_beside_lanes_with_short_packets() -> None:
    scene = Scene()
    scene.unanswered()
    scene.comes_up(short=True)
    scene.tried.look_again()
    assert scene.trials == [MARK, MARK]
    assert scene.tried.seem_lost


def test_and_without_such_lanes_the_next_has_long_packets() -> None:
    scene = Scene()
    scene.unanswered()
    scene.tried.look_again()
    assert not scene.trials
    assert not scene.tried.seem_lost


def wait(scene: Callable[[], None]) -> None:
    """Until whatever the scene has left for later has been done."""

    async def told() -> None:
        scene()
        await asyncio.sleep(HOUR)

    played(told())


@pytest.mark.parametrize(("shown", "trials"), [(False, [MARK, MARK]), (True, [MARK])])
def test_a_trial_that_has_shown_nothing_is_made_again_unless_another_has(shown: bool, trials: list[int]) -> None:
    scene = Scene()

    def happens() -> None:
        scene.comes_up(short=True)
        scene.tried.failed(trial=True)
        if shown:
            scene.unanswered_trial()

    wait(happens)
    assert scene.trials == trials


def test_so_is_one_that_an_operator_has_asked_for() -> None:
    """It was not, since an earlier one had shown that long packets were lost: whoever had mended the path, and reloaded
    while the other site was away for a moment, had to reload once more."""
    scene = Scene()

    def happens() -> None:
        scene.comes_up(short=True)
        scene.unanswered_trial()
        scene.tried.look_again()
        scene.tried.failed(trial=True)

    wait(happens)
    assert scene.trials == [MARK] * 3


def test_and_where_no_lane_has_short_packets_there_is_nothing_to_find_out() -> None:
    scene = Scene()

    def happens() -> None:
        scene.comes_up()
        scene.tried.failed(trial=True)

    wait(happens)
    assert not scene.trials
