"""How much a lane's kernel may hold: little; plenty while nothing is lost, and once BBR has found
the line and does not know it yet.
"""

import asyncio

import pytest

from proxy.net.outlet import LEAST, MOST, MOST_APART, PLENTY, SECONDS, SECONDS_APART, Outlet, Portion
from proxy.net.tcpinfo import PAUSED, Sending, sending, tcp_info
from tests.unit.net.loop import Clock
from tests.unit.net.tcp import tcp_pair

RATE = 5_400_000
ROUND_TRIP = 100_000
NO_LIMIT = (1 << 64) - 1
"""Of the pace that the kernel is allowed, as it tells it."""


def flow(rate: int, pace: int, **more: int) -> Sending:
    """Of a lane on a line that loses a packet now and then, and does not queue."""
    usual = {"window": 400, "repeated": 9, "packets": 1000, "round_trip": ROUND_TRIP, "least_round_trip": ROUND_TRIP}
    return Sending(rate=rate, pace=pace, **usual | more)


def grown(portion: Portion) -> float:
    """It has seen rates that double each 100 ms, up to RATE, which it has for the first time now."""
    rate, now = RATE >> 6, 10.0
    while rate <= RATE:
        assert portion.fitting(flow(rate, 3 * rate), now) == max(LEAST, int(rate * SECONDS))
        rate, now = 2 * rate, now + 0.1
    return now


def test_little_while_the_rate_grows() -> None:
    grown(Portion())


def test_little_as_long_as_loss_may_have_held_it_up() -> None:
    """BBR itself would be content after three round trips."""
    portion = Portion()
    now = grown(portion)
    assert portion.fitting(flow(RATE, 3 * RATE), now + 0.3) == int(RATE * SECONDS)
    assert portion.fitting(flow(2 * RATE, 6 * RATE), now + 0.4) == int(2 * RATE * SECONDS)
    assert portion.fitting(flow(2 * RATE, 6 * RATE), now + 0.9) == int(2 * RATE * SECONDS)


def test_plenty_when_it_seeks_what_is_not_there() -> None:
    portion = Portion()
    now = grown(portion)
    assert portion.fitting(flow(RATE, int(2.89 * RATE)), now + 1) > 5 * RATE * SECONDS
    assert portion.fitting(flow(RATE, int(0.99 * RATE)), now + 2) == int(RATE * SECONDS)
    assert portion.fitting(flow(RATE, int(1.25 * RATE)), now + 3) == int(RATE * SECONDS)


def test_plenty_as_soon_as_the_line_is_full() -> None:
    """Then losses have not held it up: packets queue, or the queue is so short that it drops many."""
    portion = Portion()
    now = grown(portion)
    little, plenty = int(RATE * SECONDS), 5 * RATE * SECONDS
    assert portion.fitting(flow(RATE, 3 * RATE, round_trip=ROUND_TRIP * 139 // 100), now) == little
    assert portion.fitting(flow(RATE, 3 * RATE, round_trip=ROUND_TRIP * 140 // 100), now) > plenty
    assert portion.fitting(flow(RATE, 3 * RATE, repeated=99), now) == little
    assert portion.fitting(flow(RATE, 3 * RATE, repeated=100), now) > plenty
    assert portion.fitting(flow(RATE, RATE, repeated=100), now) == little, "it does not seek"


def test_plenty_as_long_as_nothing_is_lost() -> None:
    portion = Portion()
    rate, now = RATE >> 6, 10.0
    while rate <= RATE:
        assert portion.fitting(flow(rate, 3 * rate, repeated=0), now) > max(LEAST, 5 * rate * SECONDS)
        rate, now = 2 * rate, now + 0.1
    assert portion.fitting(flow(2 * RATE, 6 * RATE, repeated=1), now) == int(2 * RATE * SECONDS)


def test_no_plenty_in_a_pause() -> None:
    """It would go all at once afterwards, and where a cap keeps BBR seeking, beyond the cap."""
    portion = Portion()
    now = grown(portion)
    assert portion.fitting(flow(RATE, 3 * RATE, window=PAUSED), now + 1) == int(RATE * SECONDS)
    assert portion.fitting(flow(RATE, 3 * RATE), now + 1.3) > 5 * RATE * SECONDS


def test_more_once_the_rate_is_known_where_urgent_frames_go_by_another_lane() -> None:
    portion = Portion()
    portion.apart = portion.late = True
    now = grown(portion)
    assert portion.fitting(flow(RATE, RATE), now + 0.3) == int(RATE * SECONDS)
    assert portion.fitting(flow(RATE, RATE), now + 1) == int(RATE * SECONDS_APART)
    portion.late = False
    assert portion.fitting(flow(RATE, RATE), now + 2) == int(RATE * SECONDS)
    portion.apart, portion.late = False, True
    assert portion.fitting(flow(RATE, RATE), now + 3) == int(RATE * SECONDS)


def test_more_on_a_fast_line_also_while_bbr_seeks_there_and_nothing_arrives() -> None:
    """It has taken 512 KiB before a busy loop comes back."""
    portion, rate = Portion(), 100_000_000
    portion.apart = True
    assert portion.fitting(flow(rate, 3 * rate), 10.0) == MOST
    assert portion.fitting(flow(rate, 3 * rate), 11.0) == MOST_APART
    assert portion.fitting(flow(1, int(1.35 * rate)), 11.1) == int(int(1.35 * rate) * SECONDS_APART)
    assert portion.fitting(flow(rate, rate, window=PAUSED), 11.2) == MOST
    assert portion.fitting(flow(2 * rate, 2 * rate), 12.0) == MOST
    assert portion.fitting(flow(2 * rate, 2 * rate), 13.0) == MOST_APART
    portion.apart = False
    assert portion.fitting(flow(2 * rate, 2 * rate), 14.0) == MOST
    assert portion.fitting(flow(2 * rate, 6 * rate), 15.0) == MOST, "no plenty either"


@pytest.mark.parametrize("pace", [1, 3])
def test_bounds(pace: int) -> None:
    portion = Portion()
    for now in range(3):
        assert LEAST <= portion.fitting(flow(1, pace), now) <= LEAST
    for now in range(3, 6):
        assert MOST <= portion.fitting(flow(10**10, pace * 10**10), now) <= PLENTY


def test_for_how_long_there_was_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(no_room(monkeypatch, Clock()))


async def no_room(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Nobody reads at the other end, until everything is read."""
    monkeypatch.setattr(asyncio.get_running_loop(), "time", clock)
    again = asyncio.Event()
    with tcp_pair() as (near, far):
        near.setblocking(False)
        outlet = Outlet(near, again.set)

        def held(seconds: float) -> bool:
            clock.now += seconds
            return outlet.held(clock.now)

        assert not held(2.0)
        clock.now += 3.0
        while outlet.room(0):
            outlet.wrote(near.send(bytes(outlet.size)))
        assert not held(2.0), "for two seconds of five"
        assert held(1.0), "all the time"
        clock.now += 1.0
        while not again.is_set():
            far.recv(1 << 20)
            await asyncio.sleep(0)
        assert held(1.0), "for one second of two"
        assert not held(0.1)
        outlet.close()


def test_before_a_rate_is_known() -> None:
    asyncio.run(at_the_beginning())


async def at_the_beginning() -> None:
    """What the transport holds counts as well."""
    with tcp_pair() as (near, _):
        outlet = Outlet(near, lambda: None)
        begins_with = outlet.size
        assert outlet.room(0) == begins_with > LEAST
        outlet.wrote(begins_with)
        assert outlet.room(begins_with // 2) == begins_with // 2
        outlet.wrote(begins_with // 2)
        assert outlet.room(begins_with) == 0
        assert outlet.watching
        outlet.close()


def test_what_the_kernel_says() -> None:
    """Both rates are there as soon as something was acknowledged."""
    with tcp_pair() as (near, far):
        for n in range(10):
            near.sendall(bytes(1000))
            assert far.recv(1000)
            if n % 2:
                far.sendall(b"and the acknowledgement comes with this")
                assert near.recv(100)
        found = sending(near)
        info = tcp_info(near)
    assert found.unsent == 0
    assert info is not None
    assert found.rate == info.delivery_rate > 0
    assert 0 < found.pace < NO_LIMIT
    assert found.window == info.congestion_window_segments > 0
    assert found.packets == info.packets >= 10
    assert found.packets > found.repeated >= info.packets_lost
    assert found.round_trip == round(info.round_trip_seconds * 1e6) > 0
    assert found.round_trip >= found.least_round_trip == round(info.least_round_trip_seconds * 1e6) > 0
