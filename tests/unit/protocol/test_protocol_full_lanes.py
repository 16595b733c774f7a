"""A lane in whose queue a PING waits behind much else: what tells that it lives, and what does not."""

from proxy.protocol.events import LaneDead, LaneSilent
from tests.unit.protocol.playbook import ALL, Script, busy_and_idle, taken


def busy_lane() -> tuple[Script, int]:
    """Of two lanes, the older one has a PING under way, behind much that a box on the way took at once."""
    script, busy, _ = busy_and_idle()
    script.tunnel.tick(script.now + 1)
    taken(script.tunnel, 1, 1 << 20, script.now + 1)
    return script, busy


def test_a_lane_lives_while_what_goes_by_it_arrives() -> None:
    """Acknowledgements come by the other one; it was taken for dead, and all that was under way had to go again."""
    script, busy = busy_lane()
    for second in range(1, 10):
        script.now += 2.0
        script.tunnel.heard(2, script.now)
        assert script.at(script.now) == []
        script.send(busy, 4000, 4000)
        script.take(1)
        script.acknowledge(busy, 4 + second, lane=2)


def test_it_lives_no_longer_than_that() -> None:
    """Nor does a frame count that may have come by another lane as well, being short."""
    script, busy = busy_lane()
    script.now += 2.0
    script.tunnel.heard(2, script.now)
    script.acknowledge(busy, 5, lane=2)
    script.now += 1.0
    script.send(busy, 100, 100)
    script.take(1)
    script.acknowledge(busy, 6, lane=2)
    assert script.at(script.now + 1.9) == []
    script.tunnel.heard(2, script.now)
    assert script.at(script.now + 0.2) == [LaneSilent(1)]


def test_a_lane_that_says_nothing_is_given_up_whatever_arrives() -> None:
    """What its other end sends may be lost: streams would wait for that without end."""
    script, busy = busy_lane()
    dead: list[object] = []
    for second in range(1, 16):
        script.now += 2.0
        script.tunnel.heard(2, script.now)
        dead += script.at(script.now)
        script.send(busy, 4000, 4000)
        script.take_all({1: ALL, 2: 0})
        script.acknowledge(busy, 4 + second, lane=2)
        if dead:
            break
    assert [type(event) for event in dead] == [LaneDead]
