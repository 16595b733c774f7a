"""What a relay waits for: what it tells itself, and what is found out of the tunnel while its source rests."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from proxy.net.waits import Waits, WaitsOwner
from proxy.observe.counters import Traffic
from proxy.observe.verdict import Figures
from proxy.observe.waiting import RECENT, SECOND, Waiting
from proxy.protocol.flow import Flow, Obstacle

MS = SECOND // 1000


class Scene:
    """A relay's waits, at a time that a test sets, and a peer that is as a test says."""

    def __init__(self) -> None:
        self.now = 0
        self.obstacle: Obstacle | None = Obstacle.LINE
        self.held = 0.0
        self.queued = 1
        self.window = 100
        self.awaited: list[int] = []
        self.owner: Any = SimpleNamespace(
            reachable=True,
            worker=SimpleNamespace(congested=False),
            streams=SimpleNamespace(flow=self.flow, await_ack=self.awaited.append, backlog=False),
        )
        self.traffic = Traffic()
        self.waits = Waits(cast(WaitsOwner, self.owner), 1, self.traffic, lambda: self.now)

    def flow(self, stream: int) -> Flow | None:
        return None if self.obstacle is None else Flow(self.obstacle, self.window, 50, self.held, self.queued)

    def pass_(self, milliseconds: int) -> Waits:
        self.now += milliseconds * MS
        return self.waits

    def outward(self, round_trip: float = 0.0) -> dict[str, int]:
        """What was waited for since the last time, in milliseconds."""
        outward, _ = self.waits.sample(round_trip)
        return {state.value: time // MS for state, time in outward.times.items() if time}

    def inward(self) -> dict[str, int]:
        _, inward = self.waits.sample(0.0)
        return {state.value: time // MS for state, time in inward.times.items() if time}


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("obstacle", [*Obstacle, None])
def test_what_arrives_may_change_what_is_waited_for_unless_the_lanes_take_no_more(
    scene: Scene, obstacle: Obstacle | None
) -> None:
    scene.obstacle = obstacle
    scene.waits.rest()
    assert scene.awaited == ([] if obstacle in (Obstacle.LINE, None) else [1])


def test_reading_and_working(scene: Scene) -> None:
    scene.pass_(7).outward(Waiting.CPU)
    scene.pass_(2).outward(Waiting.CPU)
    scene.pass_(1).outward(Waiting.SOURCE)
    scene.pass_(5)
    assert scene.outward() == {"source": 12, "cpu": 3}


@pytest.mark.parametrize(
    ("obstacle", "waiting"),
    [
        (Obstacle.LINE, "line"),
        (Obstacle.WINDOW, "window"),
        (Obstacle.FAR, "far_array"),
        (Obstacle.UNACKED, "unacked"),
        (None, "source"),
    ],
)
def test_the_source_rests_for_what_the_tunnel_says(scene: Scene, obstacle: Obstacle | None, waiting: str) -> None:
    scene.obstacle = obstacle
    scene.waits.rest()
    scene.pass_(4).resume()
    scene.pass_(1)
    assert scene.outward() == ({waiting: 4, "source": 1} if obstacle else {"source": 5})


def test_what_is_sent_while_the_queue_is_full_only_waits_there(scene: Scene) -> None:
    found = [scene.waits.queued]
    scene.waits.rest()
    found.append(scene.waits.queued)
    scene.obstacle = Obstacle.WINDOW
    scene.waits.look()
    found.append(scene.waits.queued)
    scene.obstacle = Obstacle.LINE
    scene.waits.look()
    found.append(scene.waits.queued)
    scene.waits.resume()
    found.append(scene.waits.queued)
    assert found == [False, True, False, True, False]


def test_a_batch_that_only_it_itself_leaves_no_room_waits_for_no_lane(scene: Scene) -> None:
    scene.queued = 0
    scene.waits.rest()
    assert not scene.waits.queued
    scene.pass_(4).resume()
    assert scene.outward() == {"cpu": 4}


def test_the_store_and_outages_come_first(scene: Scene) -> None:
    scene.owner.reachable = False
    scene.owner.worker.congested = True
    scene.waits.rest()
    scene.owner.worker.congested = False
    scene.pass_(3).look()
    scene.owner.reachable = True
    scene.pass_(4).look()
    scene.pass_(5)
    assert scene.outward() == {"store": 3, "outage": 4, "line": 5}


def test_what_the_peer_has_missed_is_waited_for_while_the_disk_has_it(scene: Scene) -> None:
    scene.obstacle = Obstacle.FAR
    scene.waits.rest()
    scene.pass_(2).load(True)
    scene.pass_(3).load(False)
    scene.pass_(4)
    assert scene.outward() == {"far_array": 6, "store": 3}


def test_a_chunk_that_cannot_be_sent_now_is_not_waited_for(scene: Scene) -> None:
    scene.waits.rest()
    scene.pass_(2).load(True)
    scene.owner.reachable = False
    scene.pass_(3).look()
    scene.owner.reachable = True
    scene.pass_(4).look()
    scene.pass_(5)
    assert scene.outward() == {"line": 2, "store": 8, "outage": 4}


def test_a_disk_that_holds_nothing_up_is_not_waited_for(scene: Scene) -> None:
    scene.pass_(2).load(True)
    scene.pass_(3).load(False)
    assert scene.outward() == {"source": 5}


def test_nothing_else_counts_while_the_source_rests(scene: Scene) -> None:
    scene.waits.rest()
    scene.waits.outward(Waiting.SOURCE)
    scene.pass_(3)
    assert scene.outward() == {"line": 3}
    scene.waits.resume()
    scene.waits.outward(Waiting.CPU)
    scene.pass_(4)
    assert scene.outward() == {"cpu": 4}


@pytest.mark.parametrize("obstacle", [Obstacle.WINDOW, Obstacle.UNACKED])
def test_what_is_unacknowledged_while_the_lanes_are_full_waits_for_the_line(scene: Scene, obstacle: Obstacle) -> None:
    scene.obstacle = obstacle
    scene.waits.rest()
    scene.owner.streams.backlog = True
    scene.pass_(3).look()
    scene.owner.streams.backlog = False
    scene.pass_(4).resume()
    found = scene.outward()
    assert found.pop("line") == 3
    assert list(found.values()) == [4]


@pytest.mark.parametrize("obstacle", [Obstacle.LINE, Obstacle.WINDOW, Obstacle.UNACKED])
def test_while_a_cap_holds_the_share_back_it_waits_for_that(scene: Scene, obstacle: Obstacle) -> None:
    scene.obstacle, scene.held = obstacle, 5.0
    scene.waits.rest()
    scene.held += 0.003
    scene.pass_(4).look()
    scene.held += 0.002
    scene.pass_(1).resume()
    scene.held += 0.1
    scene.pass_(9).rest()
    scene.pass_(2)
    found = scene.outward()
    assert (found.pop("shaping"), found.pop("source")) == (4, 9)
    assert sum(found.values()) == 3


def test_what_the_far_array_has_not_taken_does_not(scene: Scene) -> None:
    scene.obstacle = Obstacle.FAR
    scene.waits.rest()
    scene.owner.streams.backlog = True
    scene.pass_(3).resume()
    assert scene.outward() == {"far_array": 3}


def test_a_peer_that_cannot_be_reached_sends_nothing(scene: Scene) -> None:
    scene.pass_(2).look()
    scene.owner.reachable = False
    scene.pass_(3).look()
    scene.owner.reachable = True
    scene.pass_(4).look()
    scene.pass_(5).inward(Waiting.ARRAY)
    scene.owner.reachable = False
    scene.pass_(6).look()
    assert scene.inward() == {"peer": 10, "outage": 4, "array": 6}


def speak(scene: Scene, silent: int, reacts: int) -> None:
    """The source is silent, is given something, and speaks."""
    scene.waits.outward(Waiting.SOURCE)
    scene.pass_(silent).inward(Waiting.CPU)
    scene.waits.inward(Waiting.PEER)
    scene.pass_(reacts).outward(Waiting.CPU)


@pytest.mark.parametrize(
    ("silent", "reacts", "found"),
    [
        pytest.param(100, 1, {"answer": 100, "source": 1}, id="an answer"),
        pytest.param(80, 1, {"source": 81}, id="sooner than the round trip"),
        pytest.param(100, 120, {"source": 220}, id="it thinks longer than it waited"),
    ],
)
def test_turns(scene: Scene, silent: int, reacts: int, found: dict[str, int]) -> None:
    scene.outward(round_trip=0.1)
    speak(scene, silent, reacts)
    assert scene.outward() == found


def test_turns_are_counted(scene: Scene) -> None:
    for _ in range(3):
        speak(scene, 20, 1)
    outward, _ = scene.waits.sample(0.0)
    assert outward.answers == 3
    outward, _ = scene.waits.sample(0.0)
    assert outward.answers == 0


def test_what_was_moved_since(scene: Scene) -> None:
    scene.traffic.raw, scene.traffic.delivered = 100, 10
    assert [spell.moved for spell in scene.waits.sample(0.0)] == [100, 10]
    scene.traffic.raw += 5
    assert [spell.moved for spell in scene.waits.sample(0.0)] == [5, 0]


def test_totals_are_of_both_directions(scene: Scene) -> None:
    scene.pass_(1000)
    scene.outward()
    assert scene.waits.total == {Waiting.SOURCE: SECOND, Waiting.PEER: SECOND}


def test_rates_are_of_the_time_that_has_passed(scene: Scene) -> None:
    """Samples are taken when the loop comes to it: a busy one is late."""
    for milliseconds in (1000, 3000):
        scene.traffic.raw += milliseconds
        scene.traffic.delivered += milliseconds // 10
        scene.pass_(milliseconds).sample(0.0)
    assert (scene.waits.rate("sent"), scene.waits.rate("delivered")) == (1000, 100)


def test_what_the_far_array_takes_is_not_what_fills_its_window(scene: Scene) -> None:
    """It was told as the rate of what was sent, in which the window counted for ten seconds."""
    scene.pass_(1000).sample(0.0)
    scene.traffic.raw = 64_000_000
    scene.obstacle = Obstacle.FAR
    scene.waits.rest()
    for _ in range(3):
        scene.waits.taken += 2_000_000
        scene.traffic.raw += 2_000_000
        scene.pass_(1000).look()
        scene.waits.sample(0.0)
    assert scene.waits.verdict(Figures()).words == "the far array takes 2 MB/s"


def test_the_window_that_was_used_up_is_named_though_it_was_given_back(scene: Scene) -> None:
    """Else a few kibibytes of a stream at rest would stand beside the rate that it had a moment ago."""

    def words() -> str:
        scene.outward()
        return scene.waits.verdict(Figures(window=scene.window, round_trip=0.1)).words

    scene.obstacle, scene.window = Obstacle.WINDOW, 4 << 20
    scene.waits.rest()
    scene.pass_(900).resume()
    scene.window = 64 << 10
    scene.pass_(100)
    assert words() == "window 4 MiB / 100 ms round trip = 41.9 MB/s"
    scene.waits.rest()
    scene.pass_(1900).resume()
    assert words() == "window 64 KiB / 100 ms round trip = 0.655 MB/s"


def test_a_window_that_was_used_up_is_forgotten_with_the_wait_for_it(scene: Scene) -> None:
    scene.obstacle = Obstacle.WINDOW
    scene.waits.rest()
    scene.pass_(900).resume()
    for _ in range(RECENT):
        assert scene.waits.window == scene.window
        scene.pass_(1000)
        scene.outward()
    scene.pass_(1000)
    scene.outward()
    assert scene.waits.window == 0
