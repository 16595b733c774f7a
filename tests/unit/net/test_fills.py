"""Chunks that a peer has missed: read when they may be sent, stream by stream in turn, whatever the peer asks for."""

import gc
import weakref
from collections.abc import Callable
from typing import Any, cast

import pytest

from dedupstore.errors import ChunkAway, ChunkMissing
from proxy.net.fills import AT_ONCE, Fills
from proxy.net.reading import Reading
from proxy.net.worker import StoreWorker
from proxy.protocol.codes import ResetCode
from proxy.protocol.events import Arrived
from proxy.protocol.outgoing import UNCREDITED_BYTES, UNCREDITED_FRAMES
from proxy.protocol.reader import CHUNK_MAX
from tests.unit.net.loop import Loop
from tests.unit.protocol.playbook import Script

SHORT = 10


class Worker:
    """Its store has a chunk of the same length for every name, but for those that it lacks or has on disk only."""

    def __init__(self) -> None:
        self.store = self
        self.length = CHUNK_MAX
        self.reads = 0
        self.gone: set[bytes] = set()
        self.cold: set[bytes] = set()
        self.away: set[bytes] = set()
        self.loading: list[tuple[bytes, Callable[[], None]]] = []

    def read(self, name: bytes) -> bytes | None:
        self.reads += 1
        if name in self.gone:
            raise ChunkMissing(name)
        if name in self.away:
            raise ChunkAway(name)
        return None if name in self.cold else bytes(self.length)

    def load(self, name: bytes, call: Callable[[], None], party: object) -> None:
        self.loading.append((name, call))

    def loaded(self, *, in_vain: bool = False) -> None:
        """The disk has answered once; `in_vain`: others have taken the room in the cache again."""
        name, call = self.loading.pop(0)
        if not in_vain:
            self.cold.discard(name)
        call()


class Relay:
    """What is filled goes to the tunnel."""

    def __init__(self, script: Script, stream: int) -> None:
        self.stream = stream
        self.filled: list[bytes] = []
        self.gone: list[bytes] = []
        self.lists: dict[bytes, bytes] = {}
        self.loads: list[bool] = []
        self._script = script

    def listed(self, name: bytes) -> bytes | None:
        return self.lists.get(name)

    def fill(self, name: bytes, data: bytes) -> None:
        self.filled.append(name)
        if not data:
            self.gone.append(name)
        self._script.tunnel.streams.send_fill(self.stream, name, data)

    def loading(self, loading: bool) -> None:
        self.loads.append(loading)


class Stage:
    """A tunnel with two streams, and a peer that acknowledges when a test says so."""

    def __init__(self) -> None:
        self.script = Script(allowed=8)
        self.worker = Worker()
        self.one, self.other = (Relay(self.script, self.script.accepted(stream)) for stream in (1, 3))
        self.reading = Reading()
        self.fills = Fills(self.script.tunnel.streams, cast(StoreWorker, self.worker), self.reading, lambda: None)

    def miss(self, relay: Relay, *numbers: int) -> list[bytes]:
        """The peer misses those chunks."""
        names = [number.to_bytes(32, "big") for number in numbers]
        self.fills.add(relay, names)
        self.fills.go_on()
        return names

    def acknowledge(self, relay: Relay) -> None:
        """The peer acknowledges all that was sent on the stream."""
        self.script.take()
        self.script.acknowledge(relay.stream, 1 + len(relay.filled))
        self.fills.arrived(relay)
        self.fills.go_on()

    @property
    def held(self) -> int:
        """Bytes that the tunnel keeps."""
        return self.script.tunnel.figures.unacked_bytes


@pytest.fixture
def stage(loop: Any) -> Stage:
    return Stage()


def test_chunks_wait_by_name_until_they_may_be_sent(stage: Stage) -> None:
    """A peer that asks for 256 MiB and acknowledges nothing has sixteen of them held, and read."""
    stage.miss(stage.one, *range(1024))
    assert stage.worker.reads == len(stage.one.filled) == UNCREDITED_BYTES // CHUNK_MAX - 1
    assert stage.held < UNCREDITED_BYTES
    stage.script.take()
    stage.miss(stage.other, *range(1024))
    assert stage.worker.reads == len(stage.one.filled)
    assert stage.held < UNCREDITED_BYTES


def test_all_that_is_asked_for_comes_in_its_order(stage: Stage) -> None:
    names = stage.miss(stage.one, *range(200))
    while len(stage.one.filled) < len(names):
        before = len(stage.one.filled)
        stage.acknowledge(stage.one)
        assert len(stage.one.filled) > before
        assert stage.held < UNCREDITED_BYTES
    assert stage.one.filled == names


def test_a_runs_list_goes_in_its_turn_and_is_read_from_no_store(stage: Stage) -> None:
    run = (1).to_bytes(32, "big")
    stage.one.lists[run] = bytes(64)
    stage.worker.gone.add(run)
    names = stage.miss(stage.one, 0, 1, 2)
    assert stage.one.filled == names
    assert stage.worker.reads == 2
    assert stage.script.tunnel.figures.unacked_bytes > 2 * CHUNK_MAX + 64


def test_what_is_read_for_the_peer_is_what_our_store_gives(stage: Stage) -> None:
    """Its loads are waited for like any other. A site that filled much, and was referred to nothing, took its disk for
    one that gives nothing."""
    stage.worker.cold.add(bytes(32))
    stage.reading.begins(0.0)
    stage.miss(stage.one, 0)
    stage.worker.loaded()
    stage.reading.ended(0.5)
    assert stage.reading.rate(0.5, 1.0) == 2 * CHUNK_MAX


def test_streams_take_turns(stage: Stage) -> None:
    stage.miss(stage.one, *range(1000))
    few = stage.miss(stage.other, *range(5))
    stage.acknowledge(stage.one)
    assert stage.other.filled == few


def test_a_stream_that_is_not_acknowledged_holds_no_other_up(stage: Stage) -> None:
    stage.worker.length = SHORT
    stage.miss(stage.one, *range(200))
    assert len(stage.one.filled) == UNCREDITED_FRAMES
    for _ in range(3):
        few = stage.miss(stage.other, *range(30))
        assert stage.other.filled[-30:] == few
        stage.acknowledge(stage.other)
    assert len(stage.one.filled) == UNCREDITED_FRAMES
    stage.acknowledge(stage.one)
    assert len(stage.one.filled) == 2 * UNCREDITED_FRAMES


def test_it_is_told_when_a_stream_may_go_on(stage: Stage, loop: Loop) -> None:
    """By the tunnel, once for each refusal."""
    stage.worker.length = SHORT
    stage.miss(stage.one, *range(200))
    loop.run(0.0)
    stage.script.take()
    assert stage.script.acknowledge(1, 2) == [Arrived(1)]
    assert stage.script.acknowledge(1, 3) == []


def test_many_short_ones_leave_the_loop_time_for_others(stage: Stage, loop: Loop) -> None:
    stage.worker.length = SHORT
    relays = [stage.one, stage.other]
    for relay in relays:
        stage.fills.add(relay, [number.to_bytes(32, "big") for number in range(60)])
    stage.fills.go_on()
    assert sum(len(relay.filled) for relay in relays) == AT_ONCE
    loop.run(0.0)
    assert [len(relay.filled) for relay in relays] == [60, 60]


def test_what_is_on_disk_is_loaded_first_and_others_go_on(stage: Stage) -> None:
    names = [number.to_bytes(32, "big") for number in range(3)]
    stage.worker.cold = {names[0], names[2]}
    stage.miss(stage.one, 0, 1, 2)
    stage.miss(stage.other, 1)
    assert (stage.one.filled, stage.other.filled) == ([], [names[1]])
    assert (stage.one.loads, stage.other.loads) == ([True], [])
    stage.worker.loaded()
    assert stage.one.loads == [True, False, True]
    stage.worker.loaded()
    assert stage.one.filled == names
    assert stage.one.loads == [True, False] * 2


def test_what_the_disk_never_brings_and_what_is_gone_is_said_to_be(stage: Stage) -> None:
    first, second = (number.to_bytes(32, "big") for number in range(2))
    stage.worker.gone = {second}
    stage.worker.cold = {first}
    stage.miss(stage.one, 0, 1)
    while stage.worker.loading:
        stage.worker.loaded(in_vain=True)
    assert stage.script.take() == ["FILL 1#1 0", "FILL 1#2 0"]


def test_a_disk_that_is_away_for_a_moment_is_waited_for(stage: Stage, loop: Loop) -> None:
    """The stream was reset: both sides were said to hold the chunk no longer."""
    names = [number.to_bytes(32, "big") for number in range(3)]
    stage.worker.away = {names[0]}
    stage.miss(stage.one, 0, 1)
    stage.miss(stage.other, 2)
    loop.run(3.0)
    assert (stage.one.filled, stage.other.filled) == ([], [names[2]])
    assert stage.one.loads[-2:] == [False, True], "it says what it waits for"
    stage.worker.away.clear()
    stage.worker.cold = {names[0]}
    loop.run(1.0)
    stage.worker.loaded()
    assert (stage.one.filled, stage.one.gone, stage.one.loads[-1]) == (names[:2], [], False)


def test_a_disk_that_stays_away_is_not_waited_for_for_ever(stage: Stage, loop: Loop) -> None:
    names = [number.to_bytes(32, "big") for number in range(2)]
    stage.worker.away = {names[0]}
    stage.miss(stage.one, 0, 1)
    loop.run(60.0)
    assert (stage.one.filled, stage.one.gone) == (names, names[:1])
    stage.worker.away = {names[1]}
    stage.miss(stage.one, 1)
    stage.fills.drop(stage.one)
    loop.run(60.0)
    assert stage.one.filled == names, "nothing goes for a stream that has ended meanwhile"


def test_nothing_is_sent_for_a_stream_that_has_ended(stage: Stage) -> None:
    names = [number.to_bytes(32, "big") for number in range(100)]
    stage.worker.cold = {names[0]}
    stage.miss(stage.one, 0, 1)
    stage.miss(stage.other, *range(1, 100))
    for relay in (stage.one, stage.other):
        stage.script.tunnel.streams.reset(relay.stream, ResetCode.INTERNAL, "")
        stage.fills.drop(relay)
    before = len(stage.other.filled)
    stage.worker.loaded()
    assert stage.one.loads == [True]
    stage.fills.go_on()
    assert (stage.one.filled, len(stage.other.filled)) == ([], before)


def test_a_stream_that_ends_before_its_chunk_is_read_at_all_costs_nobody_theirs(stage: Stage) -> None:
    """The disk has as many to read as may be; its next one was asked for by a stream that is no more."""
    relays = [stage.one, stage.other, *(Relay(stage.script, stage.script.accepted(stream)) for stream in (5, 7, 9, 11))]
    stage.worker.cold = {number.to_bytes(32, "big") for number in range(len(relays))}
    wanted = [stage.miss(relay, number) for number, relay in enumerate(relays)]
    ended, last = relays[-2:]
    assert len(stage.worker.loading) < len(relays) - 1
    stage.script.tunnel.streams.reset(ended.stream, ResetCode.INTERNAL, "")
    stage.fills.drop(ended)
    while stage.worker.loading:
        stage.worker.loaded()
    assert not ended.filled
    assert last.filled == wanted[-1]


def test_a_stream_that_ends_makes_room_for_others(stage: Stage) -> None:
    stage.miss(stage.one, *range(100))
    few = stage.miss(stage.other, 1, 2)
    stage.script.tunnel.streams.reset(stage.one.stream, ResetCode.INTERNAL, "")
    stage.fills.drop(stage.one)
    assert stage.other.filled == few


def test_streams_that_are_lost_together_end_one_by_one(stage: Stage) -> None:
    """The first that ends must not have the next one filled, which the tunnel knows no more."""
    stage.miss(stage.one, *range(100))
    stage.miss(stage.other, 1, 2)
    stage.script.tunnel.abandon(ResetCode.GRACE_EXPIRED, "", 0.0)
    for relay in (stage.one, stage.other):
        stage.fills.drop(relay)
    assert not stage.other.filled


def test_nothing_is_kept_of_a_stream_that_ended_while_it_waited(stage: Stage, loop: Loop) -> None:
    """For acknowledgements, which never come then."""
    stage.worker.length = SHORT
    relay = Relay(stage.script, stage.one.stream)
    stage.miss(relay, *range(100))
    loop.run(0.0)
    assert len(relay.filled) == UNCREDITED_FRAMES
    stage.fills.drop(relay)
    seen = weakref.ref(relay)
    del relay
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("cold", [False, True])
def test_nothing_is_kept_of_a_stream_that_ended_before_its_turn(stage: Stage, cold: bool) -> None:
    """A peer that acknowledges nothing of one stream lets no other have its turn, and may reset and open many."""
    relay = Relay(stage.script, stage.other.stream)
    name = (2000).to_bytes(32, "big")
    if cold:
        stage.worker.cold = {name}
        stage.miss(relay, 2000)
    stage.miss(stage.one, *range(1024))
    if cold:
        stage.worker.loaded()
    else:
        stage.miss(relay, 2000)
    assert not relay.filled
    stage.fills.drop(relay)
    seen = weakref.ref(relay)
    del relay
    gc.collect()
    assert seen() is None


class Disk(Worker):
    """What it was asked for last is in memory: there is no room for more."""

    def __init__(self) -> None:
        super().__init__()
        self.latest = b""

    def read(self, name: bytes) -> bytes | None:
        return bytes(self.length) if name == self.latest else None

    def bring(self) -> None:
        """All that it was asked for, one after another."""
        while self.loading:
            self.latest, call = self.loading.pop(0)
            call()


def test_what_is_driven_out_while_nothing_may_be_sent_is_not_gone(stage: Stage) -> None:
    """Others have it driven out again and again, where the line takes one FILL at a time and the disk many loads.

    The peer reset streams for chunks that the disk had.
    """
    disk, script = Disk(), stage.script
    fills = Fills(script.tunnel.streams, cast(StoreWorker, disk), Reading(), lambda: None)
    relays = [stage.one, stage.other, *(Relay(script, script.accepted(stream)) for stream in (5, 7))]
    names = [number.to_bytes(32, "big") for number in range(400)]
    for nth, relay in enumerate(relays):
        fills.add(relay, names[nth::4])
    sent: list[str] = []
    acknowledged = 0
    while len(sent) < len(names):
        fills.go_on()
        disk.bring()
        sent += script.take()
        kind, where, size = sent[acknowledged].split()
        assert (kind, size) == ("FILL", str(CHUNK_MAX))
        stream, number = map(int, where.split("#"))
        script.acknowledge(stream, number + 1)
        acknowledged += 1
        counts = [len(relay.filled) for relay in relays]
        assert max(counts) - min(counts) < len(relays), "each has its turn"
