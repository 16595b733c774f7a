"""Whether a stream waits for the line (not for its far array), and when the peer has forgotten it."""

from proxy.protocol.codes import ResetCode
from proxy.protocol.frames import OVER
from proxy.protocol.notices import ACK_DELAY
from tests.unit.protocol.playbook import Script

KIB = 1 << 10
COST = 60 * KIB + 256


def script() -> Script:
    """Stream 1 is accepted, with credit for one batch of 60 KiB."""
    found = Script()
    found.accepted(1)
    return found


def test_batches_that_wait_for_a_lane() -> None:
    one = script()
    assert not one.tunnel.streams.pressed(1)
    one.send(1, 1000)
    assert one.tunnel.streams.pressed(1)
    one.take()
    assert not one.tunnel.streams.pressed(1)


def test_a_source_that_waits_while_batches_are_on_their_way() -> None:
    """Even if that is over when somebody asks; once."""
    one = script()
    one.send(1, 60 * KIB)
    one.take()
    assert one.tunnel.streams.sendable(1) == 0
    one.acknowledge(1, 2)
    one.credit(1, COST, 1 << 30)
    assert one.tunnel.streams.pressed(1)
    assert not one.tunnel.streams.pressed(1)


def test_a_source_that_waits_for_the_far_array() -> None:
    """Everything has arrived, and nothing is consumed."""
    one = script()
    one.send(1, 60 * KIB)
    one.take()
    one.acknowledge(1, 2)
    assert one.tunnel.streams.sendable(1) == 0
    assert not one.tunnel.streams.pressed(1)


def test_a_stream_that_has_ended_waits_for_nothing() -> None:
    one = script()
    one.send(1, 1000)
    one.tunnel.abandon(ResetCode.GRACE_EXPIRED, "test", one.now)
    one.events()
    assert not one.tunnel.streams.remembers(1)
    two = script()
    two.send(1, 1000)
    two.reset(1, 1)
    assert not two.tunnel.streams.pressed(1)


def test_a_stream_is_remembered_until_both_sides_have_all_of_it() -> None:
    one = script()
    assert one.tunnel.streams.remembers(1)
    one.tunnel.streams.send_end(1, 0, b"")
    one.take()
    one.end(1, 1)
    assert one.tunnel.streams.remembers(1)
    one.acknowledge(1, 2)
    one.at(one.now + ACK_DELAY)
    assert not one.tunnel.streams.remembers(1)


def test_a_stream_that_we_reset_is_remembered_until_the_peer_knows() -> None:
    one = script()
    one.tunnel.streams.reset(1, ResetCode.ORIGIN_RESET, "test")
    one.take()
    assert one.tunnel.streams.remembers(1)
    one.acknowledge(1, OVER)
    assert not one.tunnel.streams.remembers(1)
    assert not one.tunnel.streams.remembers(77)
