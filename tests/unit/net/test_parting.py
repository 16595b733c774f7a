"""An array has ended its side, and closed: its kernel forgets the connection, and nothing of what it sent is lost."""

import socket
import time
from collections.abc import Callable

import pytest

from proxy.net.endings import LEAVE_SECONDS
from proxy.net.sockets import notice_absence
from proxy.protocol.codes import ResetCode
from tests.unit.net.connected import Connected, ended, resting
from tests.unit.net.loop import Loop
from tests.unit.net.tcp import await_end, await_forgotten, await_reset
from tests.unit.reduction.sites import noise

ASKS = 1
"""Seconds between the kernel's questions whether the array is still there."""


def asks_soon(near: socket.socket) -> None:
    """The site's kernel asks as it does for every array, but after a second instead of a minute."""
    notice_absence(near)
    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
        near.setsockopt(socket.IPPROTO_TCP, option, ASKS)


def close_for_good(far: socket.socket) -> None:
    """The array has sent all it had and closed; its kernel forgets that after a second, as others after a minute."""
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, 1)
    far.sendall(b"the last words")
    far.close()


def pass_seconds(connected: Connected, loop: Loop, seconds: float) -> None:
    """The site looks at the relay in each of them."""
    for _ in range(round(seconds)):
        loop.run(1.0)
        connected.relay.sample()


@pytest.mark.parametrize("state", [resting, ended])
def test_an_array_that_has_closed_for_good_is_not_asked_for_while_the_far_one_takes_what_it_has_sent(
    connected: Connected, state: Callable[[Connected], None]
) -> None:
    """Its kernel would answer by a reset, by which all that was lost that the far array had not taken within a minute:
    one that was slow, or behind a slow line or an outage."""
    asks_soon(connected.near)
    close_for_good(connected.far)
    state(connected)
    await_end(connected.near)
    connected.relay.sample()
    await_forgotten(connected.near)
    until = time.monotonic() + 2 * ASKS
    while time.monotonic() < until:
        connected.relay.sample()
        time.sleep(0.1)
    connected.owner.gone.assert_not_called()


def ended_with_bytes_under_way(connected: Connected) -> None:
    """The array has ended its side, and the far one has not taken all."""
    connected.relay.get_buffer(0)[:1000] = noise(1000)
    connected.read(1000)
    connected.relay.eof_received()
    assert connected.owner.streams.send_data.called


def asked_while_stopped(connected: Connected) -> None:
    """This site was stopped while its kernel asked."""
    asks_soon(connected.near)


def told_of_the_end(connected: Connected) -> None:
    """The far array ends its side, when the near one's kernel has forgotten the connection."""
    await_end(connected.near)
    connected.relay.sample()
    await_forgotten(connected.near)
    connected.near.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("state", [resting, ended_with_bytes_under_way])
@pytest.mark.parametrize("answers", [asked_while_stopped, told_of_the_end])
def test_nor_does_such_a_reset_cost_what_was_sent_in_order_before(
    connected: Connected, loop: Loop, state: Callable[[Connected], None], answers: Callable[[Connected], None]
) -> None:
    """It may come unasked. All the same the far array gets all; a while later it is not kept any more."""
    state(connected)
    close_for_good(connected.far)
    answers(connected)
    await_reset(connected.near)
    pass_seconds(connected, loop, 3 * LEAVE_SECONDS)
    connected.owner.gone.assert_not_called()
    assert (connected.near.recv(100), connected.near.recv(100)) == (b"the last words", b"")
    connected.relay.eof_received()
    connected.relay.consumed(1 << 62)
    pass_seconds(connected, loop, LEAVE_SECONDS - 2)
    connected.owner.gone.assert_not_called()
    pass_seconds(connected, loop, 5)
    connected.owner.streams.reset.assert_called_once_with(1, ResetCode.ORIGIN_RESET, connected.relay.reason)
    assert connected.relay.reason == "the array reset its connection"


def test_nor_the_last_bytes_which_the_far_array_is_taking(connected: Connected, loop: Loop) -> None:
    """The array has ended its side, and its kernel has forgotten that, all while this site was stopped."""
    asked_while_stopped(connected)
    close_for_good(connected.far)
    await_reset(connected.near)
    ended_with_bytes_under_way(connected)
    connected.relay.consumed(1 << 62)
    gone = []
    for seconds in (LEAVE_SECONDS - 2, 5):
        pass_seconds(connected, loop, seconds)
        gone.append(connected.owner.gone.called)
    assert gone == [False, True]


def test_once_the_far_array_has_had_time_to_take_all_it_is_asked_again(connected: Connected, loop: Loop) -> None:
    """A far array that never ends its side must not keep its session for ever."""
    notice_absence(connected.near)
    ended_with_bytes_under_way(connected)
    connected.far.shutdown(socket.SHUT_WR)
    asked = [asked_after(connected, loop, 3 * LEAVE_SECONDS)]
    connected.relay.consumed(1 << 62)
    asked += [asked_after(connected, loop, seconds) for seconds in (LEAVE_SECONDS - 2, 5)]
    assert asked == [False, False, True]


def asked_after(connected: Connected, loop: Loop, seconds: float) -> bool:
    """Whether the array is asked if it is there, so much later."""
    pass_seconds(connected, loop, seconds)
    return bool(connected.near.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
