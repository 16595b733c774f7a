"""When a dialler tries: at once, then after pauses that grow and are never quite alike, and not too often at a time."""

import asyncio
import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from unittest.mock import MagicMock

import pytest

from proxy.config.addresses import Address
from proxy.net import dialler as dialling
from proxy.net.dialler import Dialler
from proxy.net.lane import HELLO_TIMEOUT
from tests.simulation.clockwork import played

LONGEST = 8.0
AT_ONCE = 16
MANY = 40
TIMEOUT = 100.0
HOUR = 3600.0


@dataclass
class Lanes:
    """Of which so many are missing."""

    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    count: int = 1
    up: bool = False
    marks: tuple[int, ...] = (0,)

    def missing(self) -> list[int]:
        return [mark for mark in self.marks for _ in range(self.count)]

    def __iter__(self) -> Iterator[Any]:
        return iter(())


@dataclass
class Line:
    """What becomes of attempts to connect, and when each began and ended."""

    silent: bool = False
    begun: list[float] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def connect(self, *_: object, seconds: float) -> None:
        self.begun.append(asyncio.get_running_loop().time())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(HOUR if self.silent else 0.0)
        finally:
            self.under_way -= 1
        raise ConnectionRefusedError

    @property
    def pauses(self) -> list[float]:
        return [later - earlier for earlier, later in pairwise(self.begun)]


def times(timeout: float = TIMEOUT) -> dict[str, Any]:
    """What a dialler is told of its site's settings."""
    return {"connect_timeout": lambda: timeout, "pause_max": lambda: LONGEST}


def dial(line: Line, monkeypatch: pytest.MonkeyPatch, *, lanes: Lanes | None = None, resting: bool = False) -> None:
    """For ten minutes of a clock that jumps, to a peer that never comes up; `resting`: arrays' connections."""
    monkeypatch.setattr(dialling, "connect", line.connect)
    monkeypatch.setattr(dialling, "Handshake", MagicMock())
    peer = MagicMock(lanes=lanes or Lanes(), relays={1: "a stream"} if resting else {}, last_error="")
    peer.lanes.wanted.set()
    dialler = Dialler(peer, MagicMock(), **times())
    played(runs(dialler, 600.0))


async def runs(dialler: Dialler, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(dialler.run(), seconds)
    await asyncio.sleep(1)  # those under way end


def test_pauses_double_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line()
    dial(line, monkeypatch)
    due = [0.25, 0.5, 1.0, 2.0, 4.0, *[LONGEST] * len(line.pauses)]
    assert len(line.pauses) > 75
    assert all(most / 2 <= pause <= most for pause, most in zip(line.pauses, due, strict=False)), line.pauses


def test_times_are_those_that_the_site_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reload changes counts for the next attempt, and the pause behind it."""
    begun, asked = list[float](), dict[int, float]()

    async def connect(*_: object, seconds: float) -> None:
        begun.append(asyncio.get_running_loop().time())
        asked[len(begun)] = seconds
        raise ConnectionRefusedError

    monkeypatch.setattr(dialling, "connect", connect)
    monkeypatch.setattr(dialling, "Handshake", MagicMock())
    peer = MagicMock(lanes=Lanes(), relays={}, last_error="")
    peer.lanes.wanted.set()
    many = {"connect_timeout": lambda: float(len(begun)), "pause_max": lambda: LONGEST if len(begun) < 20 else 0.5}
    played(runs(Dialler(peer, MagicMock(), **(times() | many)), 300.0))
    assert all(seconds == number - 1 for number, seconds in asked.items())
    pauses = [later - earlier for earlier, later in pairwise(begun)]
    assert min(pauses[10:19]) >= LONGEST / 2
    assert max(pauses[20:]) <= 0.5


def test_the_address_is_the_one_that_the_peer_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it has none, nobody is dialled; what a reload changes counts for the next attempt."""
    turn, places = 0, list[tuple[int, Address]]()

    async def connect(address: Address, *_: object, seconds: float) -> None:
        places.append((turn, address))
        raise ConnectionRefusedError

    monkeypatch.setattr(dialling, "connect", connect)
    monkeypatch.setattr(dialling, "Handshake", MagicMock())
    peer = MagicMock(lanes=Lanes(), relays={}, address=None)
    peer.lanes.wanted.set()
    dialler = Dialler(peer, MagicMock(), **times())
    one, two = Address("west.example", 4500), Address("198.18.0.2", 4500)

    async def scene() -> None:
        nonlocal turn
        running = asyncio.create_task(runs(dialler, 400.0))
        for turn, peer.address in enumerate((None, one, two, None)):
            dialler.hurry()
            await asyncio.sleep(LONGEST / 4)
            assert (turn, peer.address) in places or peer.address is None, "at once"
            await asyncio.sleep(2 * LONGEST)
        await running

    played(scene())
    assert set(places) == {(1, one), (2, two)}


def test_attempts_that_lead_where_the_peer_was_keep_nobody_from_dialling_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nobody answers, as many as may be under way hang; and what becomes of them is not said of the peer."""
    places = list[Address]()

    async def connect(address: Address, *_: object, seconds: float) -> None:
        places.append(address)
        await asyncio.sleep(TIMEOUT if address == wrong else HOUR)
        raise ConnectionRefusedError

    monkeypatch.setattr(dialling, "connect", connect)
    monkeypatch.setattr(dialling, "Handshake", MagicMock())
    wrong, right = Address("west.example", 4500), Address("198.18.0.2", 4500)
    peer = MagicMock(lanes=Lanes(), relays={1: "a stream"}, address=wrong)
    peer.lanes.wanted.set()
    dialler = Dialler(peer, MagicMock(), **times(HOUR))

    async def scene() -> None:
        running = asyncio.create_task(runs(dialler, 2 * TIMEOUT))
        await asyncio.sleep(TIMEOUT / 2)
        assert places == [wrong] * AT_ONCE
        peer.address = right
        dialler.hurry()
        await asyncio.sleep(0.1)
        assert places[AT_ONCE:] == [right]
        await running

    played(scene())
    assert places == [wrong] * AT_ONCE + [right] * AT_ONCE
    peer.failed.assert_not_called()


def test_no_two_sites_keep_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an outage of a hub, its peers shall not come all at the same moments."""
    line = Line()
    dial(line, monkeypatch)
    longest = line.pauses[5:]
    assert len(set(longest)) == len(longest)
    assert min(longest) < 0.6 * LONGEST < 0.9 * LONGEST < max(longest)


def test_while_arrays_wait_no_pause_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line()
    dial(line, monkeypatch, resting=True)
    assert len(line.pauses) > 600
    assert max(line.pauses) <= 1.0


def test_of_a_peer_that_was_removed_that_is_said() -> None:
    """And not that it cannot be reached: nobody tries."""
    peer = MagicMock(lanes=Lanes(), relays={})
    peer.lanes.wanted.set()
    words = "west was removed from east.toml"
    certificates = MagicMock(**{"dialling.side_effect": ValueError(words), "removed.return_value": words})
    played(runs(Dialler(peer, certificates, **times()), 10.0))
    assert {call.args for call in peer.failed.call_args_list} == {(words,)}


@pytest.mark.parametrize("up", [False, True])
def test_attempts_under_way_are_bounded(monkeypatch: pytest.MonkeyPatch, up: bool) -> None:
    """However many lanes are missing, whether or not one works meanwhile, and although no attempt ends for long."""
    line = Line(silent=True)
    dial(line, monkeypatch, lanes=Lanes(count=MANY, up=up))
    assert line.most == AT_ONCE
    assert line.under_way == 0
    assert len(line.begun) > AT_ONCE, "none follows those that have ended"


def test_an_attempt_that_hangs_keeps_no_other_from_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no lane works there is one more after each pause; what is missing is not tried all at once."""
    line = Line(silent=True)
    dial(line, monkeypatch, lanes=Lanes(count=MANY))
    assert all(pause >= 0.125 for pause in line.pauses[: AT_ONCE - 1])
    assert line.begun[AT_ONCE - 1] - line.begun[0] < TIMEOUT


@pytest.mark.parametrize("lasts", [0.0, LONGEST / 4, HELLO_TIMEOUT])
def test_a_mark_whose_packets_are_lost_keeps_no_other_from_being_tried(
    monkeypatch: pytest.MonkeyPatch, lasts: float
) -> None:
    """As by a router that drops what it does not know: no lane came up, though those of the other mark would have.

    Also where an attempt is over before the next one begins, as with long pauses, or by a router that resets it.
    """
    tried = []

    async def attempt(self: Dialler, address: Address, mark: int, *, trial: bool = False) -> None:
        tried.append(mark)
        await asyncio.sleep(lasts)

    monkeypatch.setattr(Dialler, "_dial", attempt)
    dial(Line(), monkeypatch, lanes=Lanes(count=2, marks=(46, 10)))
    assert set(tried[:2]) == {46, 10}
    assert abs(tried.count(46) - tried.count(10)) < len(tried) // 4


class Lasting:
    """A lane that comes up at once, and is there until it is taken down."""

    up, late, short, silent, connected, mark, dialler, number = True, False, False, False, False, 0, True, 0

    def __init__(self, *_: object, **__: object) -> None:
        Lasting.number += 1
        self.number = Lasting.number
        self.since = asyncio.get_running_loop().time()
        self.settled = asyncio.Event()
        self.settled.set()

    def carry(self, mark: int) -> None:
        pass

    def close(self, *_: object, **__: object) -> None:
        self.up = False


@dataclass
class Tunnel(Lanes):
    """To a peer that may be away."""

    lanes: list[Lasting] = field(default_factory=list)
    away: bool = False
    swallows: bool = False
    """Connections come up, as by a box on the way, and nothing goes through them."""
    begun: list[float] = field(default_factory=list)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.lanes)

    def missing(self) -> list[int]:
        return [] if self.lanes else [0]

    async def connect(self, *_: object, seconds: float) -> object:
        self.begun.append(asyncio.get_running_loop().time())
        if self.away:
            raise ConnectionRefusedError
        return "connected"

    async def take_over(self, _: object, lane: Any, **__: object) -> None:
        if self.swallows:
            await asyncio.sleep(HOUR)
        self.lanes.append(lane())
        self.wanted.clear()
        self.swallows = lane().short  # what has to show whether long packets pass comes to nothing, as all else does
        lane().silent = self.swallows

    def reset(self) -> None:
        """The lane's end is told at once, as when the other site ends, or a box on the way."""
        for lane in self.lanes:
            lane.up = False
        self.lanes.clear()
        self.wanted.set()


def dialled(tunnel: Tunnel, peer: MagicMock, monkeypatch: pytest.MonkeyPatch, *, seconds: float = TIMEOUT) -> Dialler:
    """`seconds`: that an attempt may take."""
    for name, value in (("connect", tunnel.connect), ("take_over", tunnel.take_over), ("Lane", Lasting)):
        monkeypatch.setattr(dialling, name, value)
    monkeypatch.setattr(dialling, "Handshake", lambda *_: MagicMock(failure=None))
    return Dialler(peer, MagicMock(), **times(seconds))


def test_an_outage_is_not_taken_for_a_path_that_loses_long_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane with short packets has come up, and with that the line is out: an alarm said so until the next reload."""
    tunnel = Tunnel(swallows=True)
    peer = MagicMock(lanes=tunnel, relays={}, short_packets=False)

    def failed(_: str, *, refused: bool) -> bool:
        tunnel.swallows = tunnel.swallows and bool(tunnel.lanes)  # the first attempt
        return True

    peer.failed = failed
    dialler = dialled(tunnel, peer, monkeypatch, seconds=0.1)

    async def scene() -> None:
        tunnel.wanted.set()
        running = asyncio.create_task(dialler.run())
        await asyncio.sleep(10.0)
        assert [lane.short for lane in tunnel.lanes] == [True]
        assert not peer.short_packets
        tunnel.swallows = tunnel.lanes[0].silent = False
        await asyncio.sleep(10.0)
        assert [lane.short for lane in tunnel.lanes if lane.up] == [False]
        running.cancel()

    played(scene())


@pytest.mark.parametrize("what", ["no way", "no answer", "another's certificate", "HELLO refused"])
def test_a_trial_that_showed_nothing_is_made_again(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """A router says that the line is out, new connections get no answer, or another site has the address for a moment:
    packets stayed short until the next reload, and no alarm said why."""
    tunnel = Tunnel(swallows=True)
    peer = MagicMock(lanes=tunnel, relays={}, short_packets=False)

    def failed(_: str, *, refused: bool) -> bool:
        tunnel.swallows = False  # it was the line
        return True

    async def connect(*_: object, seconds: float) -> object:
        if not tunnel.lanes:
            return await tunnel.connect(seconds=seconds)
        tunnel.lanes[0].silent = False
        if what == "no way":
            raise OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
        return await asyncio.sleep(HOUR if what == "no answer" else 0.0, "connected")

    async def take_over(connection: object, lane: Any, **_: object) -> None:
        if not tunnel.lanes:
            return await tunnel.take_over(connection, lane)
        lane().up = False
        return await asyncio.sleep(HOUR if what == "another's certificate" else 0.0)

    peer.failed = failed
    dialler = dialled(tunnel, peer, monkeypatch, seconds=0.1)
    monkeypatch.setattr(dialling, "connect", connect)
    monkeypatch.setattr(dialling, "take_over", take_over)
    failure = "not its own" if what == "another's certificate" else None
    monkeypatch.setattr(dialling, "Handshake", lambda *_: MagicMock(failure=failure if tunnel.lanes else None))

    async def scene() -> None:
        tunnel.wanted.set()
        running = asyncio.create_task(dialler.run())
        await asyncio.sleep(10.0)
        assert [lane.short for lane in tunnel.lanes] == [True]
        tunnel.swallows = False
        monkeypatch.setattr(dialling, "connect", tunnel.connect)
        monkeypatch.setattr(dialling, "take_over", tunnel.take_over)
        await asyncio.sleep(100.0)
        assert [lane.short for lane in tunnel.lanes if lane.up] == [False]
        running.cancel()

    played(scene())


def test_trials_do_not_gather_while_the_line_is_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them begins the next one at once, and none of them one more for later."""
    tunnel = Tunnel(swallows=True)
    peer = MagicMock(lanes=tunnel, relays={}, short_packets=False)
    trials = Line(silent=True)

    def failed(_: str, *, refused: bool) -> bool:
        tunnel.swallows = False  # so that the next attempt, with short packets, comes up
        return True

    async def connect(*_: object, seconds: float) -> object:
        if tunnel.lanes:
            await trials.connect(seconds=seconds)
        return await tunnel.connect(seconds=seconds)

    peer.failed = failed
    dialler = dialled(tunnel, peer, monkeypatch, seconds=1.0)
    monkeypatch.setattr(dialling, "connect", connect)

    async def scene() -> None:
        tunnel.wanted.set()
        running = asyncio.create_task(dialler.run())
        await asyncio.sleep(300.0)
        assert [lane.short and lane.silent for lane in tunnel.lanes] == [True]
        running.cancel()

    played(scene())
    assert len(trials.begun) > 100
    assert trials.most == 1


def test_who_was_well_for_a_day_is_dialled_as_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often its only lane has been reset: the pause grew with each time, though each next attempt succeeded."""
    tunnel = Tunnel()
    dialler = dialled(tunnel, MagicMock(lanes=tunnel, relays={}, last_error=""), monkeypatch)

    async def scene() -> None:
        tunnel.wanted.set()
        running = asyncio.create_task(dialler.run())
        for _ in range(10):
            await asyncio.sleep(24 * HOUR)
            tunnel.reset()
        await asyncio.sleep(24 * HOUR)
        tunnel.away = True
        tunnel.begun.clear()
        tunnel.reset()
        await asyncio.sleep(1.0)
        running.cancel()

    played(scene())
    assert len(tunnel.begun) > 1
    assert tunnel.begun[1] - tunnel.begun[0] <= 0.25
