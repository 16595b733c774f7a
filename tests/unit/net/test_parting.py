"""An array has ended its side, and closed: its kernel forgets the connection, and nothing of what it sent is lost."""

import select
import socket
import time
from collections.abc import Callable

import pytest

from proxy.net.endings import LEAVE_SECONDS
from proxy.net.sockets import notice_absence
from proxy.protocol.codes import ResetCode
from tests.patience import PATIENCE
from tests.unit.net.connected import Connected, ended, resting
from tests.unit.net.loop import Loop
from tests.unit.net.tcp import await_reset, tcp_pair
from tests.unit.reduction.sites import noise


def closed_for_good(near: socket.socket, far: socket.socket) -> None:
    """The array has sent all it had and closed; its kernel forgets that after a second, as others after a minute."""
    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
        near.setsockopt(socket.IPPROTO_TCP, option, 1)
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, 1)
    far.sendall(b"the last words")
    far.close()


@pytest.mark.parametrize("state", [resting, ended])
def test_an_array_that_has_closed_for_good_is_not_asked_for_while_the_far_one_takes_what_it_has_sent(
    connected: Connected, state: Callable[[Connected], None]
) -> None:
    """Its kernel would answer by a reset, by which all that was lost that the far array had not taken within a minute:
    one that was slow, or behind a slow line or an outage."""
    with tcp_pair() as (near, far):
        notice_absence(near)
        closed_for_good(near, far)
        connected.transport.get_extra_info.return_value = near
        state(connected)
        until = time.monotonic() + 4
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


def asked_while_stopped(connected: Connected, near: socket.socket) -> None:
    """This site was stopped while its kernel asked."""
    notice_absence(near)
    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
        near.setsockopt(socket.IPPROTO_TCP, option, 1)


def told_of_the_end(connected: Connected, near: socket.socket) -> None:
    """The far array ends its side, when the near one's kernel has forgotten the connection."""
    poll = select.poll()
    poll.register(near, select.POLLRDHUP)
    assert poll.poll(PATIENCE * 1000), "the end has come"
    connected.relay.sample()
    time.sleep(2.5)
    near.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("state", [resting, ended_with_bytes_under_way])
@pytest.mark.parametrize("answers", [asked_while_stopped, told_of_the_end])
def test_nor_does_such_a_reset_cost_what_was_sent_in_order_before(
    connected: Connected,
    loop: Loop,
    state: Callable[[Connected], None],
    answers: Callable[[Connected, socket.socket], None],
) -> None:
    """It may come unasked. All the same the far array gets all; a while later it is not kept any more."""
    with tcp_pair() as (near, far):
        connected.transport.get_extra_info.return_value = near
        state(connected)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, 1)
        far.sendall(b"the last words")
        far.close()
        answers(connected, near)
        await_reset(near)
        for _ in range(round(3 * LEAVE_SECONDS)):
            loop.run(1.0)
            connected.relay.sample()
        connected.owner.gone.assert_not_called()
        assert (near.recv(100), near.recv(100)) == (b"the last words", b"")
        connected.relay.eof_received()
        connected.relay.consumed(1 << 62)
        for _ in range(round(LEAVE_SECONDS) - 2):
            loop.run(1.0)
            connected.relay.sample()
        connected.owner.gone.assert_not_called()
        for _ in range(5):
            loop.run(1.0)
            connected.relay.sample()
        connected.owner.streams.reset.assert_called_once_with(1, ResetCode.ORIGIN_RESET, connected.relay.reason)
        assert connected.relay.reason == "the array reset its connection"


def test_nor_the_last_bytes_which_the_far_array_is_taking(connected: Connected, loop: Loop) -> None:
    """The array has ended its side, and its kernel has forgotten that, all while this site was stopped."""
    with tcp_pair() as (near, far):
        connected.transport.get_extra_info.return_value = near
        asked_while_stopped(connected, near)
        closed_for_good(near, far)
        await_reset(near)
        ended_with_bytes_under_way(connected)
        connected.relay.consumed(1 << 62)
        gone = []
        for seconds in (LEAVE_SECONDS - 2, 5):
            for _ in range(round(seconds)):
                loop.run(1.0)
                connected.relay.sample()
            gone.append(connected.owner.gone.called)
        assert gone == [False, True]


def test_once_the_far_array_has_had_time_to_take_all_it_is_asked_again(connected: Connected, loop: Loop) -> None:
    """A far array that never ends its side must not keep its session for ever."""
    with tcp_pair() as (near, far):
        notice_absence(near)
        connected.transport.get_extra_info.return_value = near
        connected.relay.get_buffer(0)[:1000] = noise(1000)
        connected.read(1000)
        connected.relay.eof_received()
        far.shutdown(socket.SHUT_WR)
        assert connected.owner.streams.send_data.called
        asked = [asked_after(connected, loop, near, 3 * LEAVE_SECONDS)]
        connected.relay.consumed(1 << 62)
        asked += [asked_after(connected, loop, near, seconds) for seconds in (LEAVE_SECONDS - 2, 5)]
        assert asked == [False, False, True]


def asked_after(connected: Connected, loop: Loop, near: socket.socket, seconds: float) -> bool:
    """Whether the array is asked if it is there, so much later."""
    for _ in range(round(seconds)):
        loop.run(1.0)
        connected.relay.sample()
    return bool(near.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
