"""A tunnel that lives goes by other times, since its site's file says so."""

import pytest

from proxy.protocol.codes import FrameType
from proxy.protocol.errors import Misuse
from proxy.protocol.events import LaneDead, TunnelReset
from proxy.protocol.frames import encode_token
from tests.unit.protocol.playbook import Script, lines, taken


def paced(script: Script, *, keepalive: float = 5.0, dead_after: float = 20.0, grace: float = 120.0) -> None:
    script.tunnel.pace(keepalive=keepalive, dead_after=dead_after, grace=grace, now=script.now)


def sent(script: Script) -> list[str]:
    return lines(taken(script.tunnel, 1, 1 << 20, script.now))


def answered() -> Script:
    """The only PING so far was answered at once; the next one goes after five seconds, twenty without a word end the
    lane."""
    script = Script(keepalive=5.0, dead_after=20.0)
    sent(script)
    script.give(FrameType.PONG, 0, 0, encode_token(1))
    return script


def test_a_lane_that_nobody_asked_is_not_dropped_for_what_it_did_not_say() -> None:
    """It is asked as soon as the new times say, and has as long as these give it."""
    script = answered()
    script.at(4.0)
    paced(script, keepalive=1.0, dead_after=2.5)
    assert script.tunnel.next_deadline() == 5.0
    assert script.at(5.0) == []
    assert sent(script) == ["PING 2"]
    assert script.at(6.4) == []
    script.give(FrameType.PONG, 0, 0, encode_token(2))
    assert script.at(7.4) == []
    assert sent(script) == ["PING 3"]
    assert script.at(8.8) == []
    assert script.at(8.9) == [LaneDead(1, "nothing was heard for 2.5 s")]


def test_a_lane_is_asked_less_often_and_waited_for_longer() -> None:
    script = answered()
    paced(script, keepalive=60.0, dead_after=240.0)
    assert script.at(5.0) == []
    assert sent(script) == ["PING 2"]
    script.give(FrameType.PONG, 0, 0, encode_token(2))
    assert script.tunnel.next_deadline() == 65.0
    assert all(not isinstance(event, LaneDead) for event in script.at(244.0))
    assert script.at(245.0) == [LaneDead(1, "nothing was heard for 240 s")]


def test_the_same_times_again_put_nothing_off() -> None:
    """A reload that is about something else."""
    script = answered()
    script.at(19.0)
    paced(script)
    assert script.at(20.0)[-1] == LaneDead(1, "nothing was heard for 20 s")


@pytest.mark.parametrize("grace", [3.0, 300.0])
def test_an_outage_lasts_as_long_as_grace_says_now(grace: float) -> None:
    script = answered()
    script.tunnel.lane_down(1, 0.0)
    script.at(2.0)
    paced(script, grace=grace)
    assert script.tunnel.next_deadline() == grace
    assert script.at(grace - 0.1) == []
    assert TunnelReset(f"there was no lane to right for {grace:.0f} s") in script.at(grace)


def test_grace_that_is_over_by_then() -> None:
    script = answered()
    script.tunnel.lane_down(1, 0.0)
    script.at(60.0)
    paced(script, grace=30.0)
    assert script.tunnel.next_deadline() == 30.0
    assert TunnelReset("there was no lane to right for 30 s") in script.at(60.0)


def test_times_that_protocol_md_does_not_allow() -> None:
    with pytest.raises(Misuse, match="less than dead_after"):
        paced(answered(), keepalive=20.0)
