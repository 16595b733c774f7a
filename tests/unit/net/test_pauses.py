"""When what a source has sent goes out although no batch is full, by a clock that the tests move."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

import pytest

from proxy.net.coders import Coders
from proxy.net.pauses import STALL, Pauses
from proxy.net.waits import Waits
from proxy.net.worker import StoreWorker
from proxy.reduction.pace import HOLD
from tests.unit.net.loop import Loop

BULK = 20_000
CHUNK = 5_000
"""Bytes of the incomplete chunk, when whole ones have gone."""


@dataclass
class Source:
    """What the pauses see of a relay: its encoder, what it waits for, and that it sends."""

    loop: Loop
    held: int = 0
    came: int = 0
    understood: bool = False
    unsent: int = 0
    queued: bool = False
    resting: bool = False
    wanted: bytes | None = None
    loaded: Callable[[], None] | None = None
    flushes: list[float] = field(default_factory=list)
    shipped: list[float] = field(default_factory=list)
    given_up: list[float] = field(default_factory=list)

    began: float = 0.0

    def __post_init__(self) -> None:
        self.encoder = self.course = self
        self.pauses = Pauses(cast(Coders, self), cast(Waits, self), cast(StoreWorker, self), self.send_rest, self.ship)

    def held_now(self) -> bool:
        """What has come last waits."""
        return not self.flushes or self.flushes[-1] < self.loop.now

    def outward(self, state: object) -> None:
        """Nobody is told."""

    def take_wanted(self) -> bytes | None:
        """Once: what is expected, and lies on the disk."""
        wanted, self.wanted = self.wanted, None
        return wanted

    def guess(self, name: bytes, call: Callable[[], None]) -> None:
        self.loaded = call

    def prefetch(self, name: bytes) -> None:
        """What follows may be wanted next."""

    def give_up(self) -> None:
        self.held = 0
        self.given_up.append(self.loop.now)

    def send_rest(self, *, patient: bool = False) -> None:
        self.unsent = 0
        self.flushes.append(self.loop.now)

    def ship(self) -> None:
        self.unsent = CHUNK
        self.shipped.append(self.loop.now)

    def rest(self) -> None:
        self.resting = True
        self.pauses.rest()

    def resume(self) -> None:
        self.resting = False
        self.pauses.resume()

    def read(self, size: int, held: int = 0, *, full: bool = False) -> None:
        self.came += size
        self.unsent += size
        self.held = held
        self.pauses.received(size, full=full)
        self.pauses.consider()


@pytest.fixture
def source(loop: Loop) -> Source:
    return Source(loop)


def test_a_small_read_goes_at_once(source: Source) -> None:
    source.read(100)
    assert source.flushes == [0.0]


def test_what_has_waited_for_the_disk_goes_once(source: Source) -> None:
    source.wanted = b"a chunk"
    source.read(100)
    source.loop.run(0.005)
    assert source.loaded is not None
    source.loaded()
    source.loop.run(1.0)
    assert source.flushes == [0.0, 0.005]


def test_bulk_is_held_until_a_batch_is_full(source: Source) -> None:
    in_one_way_bulk(source)
    for _ in range(100):
        source.loop.run(HOLD / 4)
        source.read(BULK)
        source.pauses.shipped()
    assert source.flushes == []


def test_bulk_that_fills_no_batch_is_not_held_for_longer_than_it_may_be(source: Source) -> None:
    in_one_way_bulk(source)
    for _ in range(100):
        source.read(BULK)
        source.loop.run(HOLD / 4)
    gaps = [after - before for before, after in pairwise(sorted([source.began, *source.flushes, *source.shipped]))]
    assert max(gaps) <= HOLD * 1.3  # the next hold begins with the next read


def test_small_reads_end_a_hold_though_they_never_pause(source: Source) -> None:
    """Found by a review: the end of the data, and every ping after it, was held as long as pings came."""
    in_one_way_bulk(source)
    source.read(BULK)
    assert source.flushes == []
    for _ in range(50):
        source.loop.run(HOLD / 2)
        source.read(48)
        assert source.flushes[-1] == source.loop.now


def test_an_answer_ends_a_hold(source: Source) -> None:
    in_one_way_bulk(source)
    source.read(BULK)
    source.loop.run(HOLD / 4)
    source.pauses.answered()
    source.loop.run(0.0)
    assert source.flushes == [source.loop.now]


def test_a_hold_in_vain_is_not_tried_again_soon(source: Source) -> None:
    in_one_way_bulk(source)
    source.read(BULK)
    source.loop.run(1.0)
    assert source.flushes == [pytest.approx(source.began + HOLD)]
    source.read(BULK)
    assert len(source.flushes) == 2


def test_a_hold_is_not_in_vain_if_the_loop_was_late(source: Source) -> None:
    """Timers come before what is to be read: that is seen in the last millisecond."""
    in_one_way_bulk(source)
    source.read(BULK)
    source.loop.run(HOLD - 0.0005)
    source.read(BULK)
    source.loop.run(HOLD / 4)
    source.read(BULK)
    assert source.held_now()


def test_the_chunk_that_has_just_begun_is_held_when_whole_ones_go(source: Source) -> None:
    in_one_way_bulk(source)
    source.read(BULK)
    source.loop.run(HOLD / 2)
    source.unsent = CHUNK
    source.read(BULK)
    source.unsent = CHUNK
    source.loop.run(HOLD * 0.6)
    assert source.shipped == [pytest.approx(source.began + HOLD, abs=0.0011)]
    assert source.flushes == []
    source.loop.run(HOLD)
    assert source.flushes == [pytest.approx(source.began + HOLD * 1.5)]


def test_a_chunk_that_began_long_ago_goes_with_them(source: Source) -> None:
    in_one_way_bulk(source)
    source.read(BULK)
    source.loop.run(HOLD / 2)
    source.read(BULK)
    source.loop.run(HOLD * 0.6)
    assert source.shipped == []
    assert source.flushes == [pytest.approx(source.began + HOLD, abs=0.0011)]


def test_what_would_only_wait_in_the_queue_is_held_until_that_is_short(source: Source) -> None:
    in_one_way_bulk(source)
    source.read(BULK)
    source.queued = True
    source.rest()
    source.loop.run(1.0)
    assert source.flushes == []
    source.queued = False
    source.resume()
    source.loop.run(HOLD)
    assert len(source.flushes) == 1
    source.read(BULK)
    assert source.held_now(), "the source was not silent: it was not read"


def test_who_rests_for_credit_sends_what_is_left(source: Source) -> None:
    """It may be what the credit is to come for."""
    in_one_way_bulk(source)
    source.read(BULK)
    source.rest()
    assert source.flushes == [source.loop.now]


def test_a_read_that_filled_its_room_is_no_pause_and_its_end_no_question(source: Source) -> None:
    in_one_way_bulk(source)
    source.read(4096, full=True)
    source.read(100)
    assert source.flushes == []
    source.loop.run(HOLD / 4)
    source.read(BULK)
    assert source.held_now()


def test_who_is_read_late_has_not_paused(source: Source) -> None:
    """The loop is busy with others for longer than a pause lasts."""
    for _ in range(20):
        source.read(BULK)
        if source.held_now():
            return
        source.loop.now += 2 * HOLD  # nothing was called meanwhile
        source.loop.run(HOLD / 4)
    pytest.fail("it is never held")


def in_one_way_bulk(source: Source) -> None:
    """It has sent so regularly that the next read would be held."""
    for _ in range(20):
        source.read(BULK)
        if source.held_now():
            break
        source.loop.run(HOLD / 4)
    source.rest()  # which flushes
    source.resume()
    source.flushes.clear()
    source.began = source.loop.now


def test_who_stops_within_a_pdu_is_given_up(source: Source) -> None:
    source.read(20, held=20)
    source.loop.run(STALL * 0.99)
    assert source.given_up == []
    source.loop.run(STALL)
    assert source.given_up == [STALL]
    assert source.flushes == [0.0, STALL]
    source.loop.run(100)
    assert source.given_up == [STALL]


def test_who_goes_on_is_not_given_up(source: Source) -> None:
    for _ in range(50):
        source.read(1, held=20)
        source.loop.run(STALL * 0.4)
    source.read(1, held=0)
    source.loop.run(100)
    assert source.given_up == []


def test_an_understood_login_has_longer(source: Source) -> None:
    """A segment that was lost on the way is sent again meanwhile."""
    source.understood = True
    source.read(20, held=20)
    source.loop.run(0.9)
    assert source.given_up == []
    source.loop.run(0.2)
    assert source.given_up == [1.0]


def test_who_is_not_read_is_not_given_up(source: Source) -> None:
    """Until it is read again."""
    source.read(20, held=20)
    source.rest()
    source.loop.run(10.0)
    assert source.given_up == []
    source.resume()
    source.loop.run(STALL * 0.9)
    assert source.given_up == []
    source.loop.run(STALL)
    assert len(source.given_up) == 1


def test_who_waits_for_its_turn_has_not_paused_and_is_not_given_up(source: Source) -> None:
    in_one_way_bulk(source)
    source.read(BULK, held=20, full=True)
    source.pauses.await_turn(more=True)
    source.loop.run(10.0)
    assert (source.flushes, source.given_up) == ([], [])
    source.resume()
    source.read(BULK)
    source.loop.run(HOLD / 2)
    assert source.flushes == []
    source.loop.run(10.0)
    assert len(source.flushes) >= 1


@pytest.mark.parametrize("size", [4096, BULK])
def test_what_filled_a_read_before_its_turn_ended_goes_if_nothing_follows(source: Source, size: int) -> None:
    source.read(size, full=True)
    source.pauses.await_turn(more=True)
    source.loop.run(10.0)
    assert source.flushes == []
    source.resume()
    source.loop.run(0)
    assert len(source.flushes) == 1


def test_who_asked_something_before_its_turn_ended_is_not_held(source: Source) -> None:
    source.read(100)
    source.pauses.await_turn(more=False)
    assert source.flushes == [0.0]


def test_nothing_is_given_up_after_the_end(source: Source) -> None:
    source.read(20, held=20)
    source.pauses.close()
    source.loop.run(10.0)
    assert source.given_up == []
