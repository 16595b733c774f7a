"""STORE: at what rate a side's store gives what is referred to."""

import pytest

from proxy.protocol.codes import Capability, FrameType, ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.events import StoreRate
from proxy.protocol.frames import encode_store
from tests.unit.protocol.playbook import Script

RATE = 4_000_000


def test_the_rate_is_said_when_it_changes_and_on_each_new_lane() -> None:
    script = Script(capabilities=[Capability.STORE_RATE])
    script.take()
    script.tunnel.tell_store_rate(RATE)
    assert 1 in script.tunnel.wanting
    assert script.take() == [f"STORE {RATE}"]
    assert script.take() == []
    script.join(2)
    assert f"STORE {RATE}" in script.take(2)
    script.tunnel.tell_store_rate(0)
    assert script.take() == ["STORE 0"]


def test_it_is_said_again_when_a_lane_was_lost_that_may_have_carried_it() -> None:
    script = Script(capabilities=[Capability.STORE_RATE])
    script.join(2)
    script.take()
    script.take(2)
    script.tunnel.tell_store_rate(RATE)
    assert script.take() == [f"STORE {RATE}"]
    script.tunnel.lane_down(1, script.now)
    assert script.take(2)[-1] == f"STORE {RATE}"


def test_what_was_never_said_is_not_repeated() -> None:
    script = Script(capabilities=[Capability.STORE_RATE])
    script.join(2)
    assert not any(line.startswith("STORE") for line in script.take(2))


def test_it_outlives_the_tunnel_s_state() -> None:
    """It is about the store, which is the same."""
    script = Script(capabilities=[Capability.STORE_RATE])
    script.take()
    script.tunnel.tell_store_rate(RATE)
    script.tunnel.abandon(ResetCode.INTERNAL, "a test", script.now)
    script.events()
    script.join(2)
    assert f"STORE {RATE}" in script.take(2)


def test_what_the_peer_says_is_told() -> None:
    script = Script(capabilities=[Capability.STORE_RATE])
    assert script.give(FrameType.STORE, 0, 0, encode_store(RATE)) == [StoreRate(RATE)]
    assert script.give(FrameType.STORE, 0, 0, encode_store(0)) == [StoreRate(0)]


def test_it_is_not_said_to_a_peer_that_does_not_know_it() -> None:
    script = Script(capabilities=[Capability.SLICES])
    script.take()
    script.tunnel.tell_store_rate(RATE)
    assert script.take() == []


def test_a_peer_that_has_not_agreed_to_say_it() -> None:
    script = Script(capabilities=[Capability.SLICES])
    with pytest.raises(PeerError, match="STORE broke the protocol: it was not agreed on"):
        script.give(FrameType.STORE, 0, 0, encode_store(RATE))


@pytest.mark.parametrize("payload", [b"", bytes(7)])
def test_what_is_no_rate(payload: bytes) -> None:
    with pytest.raises(PeerError, match=f"STORE broke the protocol: {len(payload)} bytes instead of 8"):
        Script(capabilities=[Capability.STORE_RATE]).give(FrameType.STORE, 0, 0, payload)
