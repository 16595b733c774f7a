"""Which state a lane joins: halves, lost states, lanes that cross."""

from dataclasses import replace

import pytest

from proxy.observe.codes import FLAPPING
from proxy.protocol.codes import CloseCode, ResetCode
from proxy.protocol.errors import HelloRefused
from proxy.protocol.events import LaneDead, StreamReset, TunnelReset
from proxy.protocol.hello import Hello
from proxy.protocol.tunnel import Tunnel
from tests.unit.protocol.playbook import Pair, events_of, taken, tunnel

LOST = "right has lost its side of the tunnel: it began anew, or its grace was over"


def answer(answerer: Tunnel, mine: Hello) -> Hello:
    """The answerer takes a HELLO and says its own."""
    answerer.join(mine, dialler=False, now=0.0)
    return answerer.hello()


def restarted(name: str, peer: str) -> Tunnel:
    """Of a new process, with a half of its own."""
    new = tunnel(name, peer)
    new.pairing.renew()
    return new


def paired() -> Pair:
    pair = Pair()
    pair.another(1)
    return pair


def test_two_new_sites_pair() -> None:
    pair = Pair()
    assert pair.left.hello().known_half is None
    pair.dial(1)
    assert pair.left.hello().known_half == pair.right.hello().half
    assert pair.right.hello().known_half == pair.left.hello().half
    assert pair.left.agreement is not None
    assert pair.left.agreement.initial_credit == 96 << 10


def test_more_lanes_join() -> None:
    pair = paired()
    stream = pair.left.streams.open("array", "")
    pair.dial(2)
    pair.dial(3, pair.right)
    assert pair.left.streams.sendable(stream) > 0
    assert not [event for event in events_of(pair.left) if isinstance(event, TunnelReset)]


def test_two_lanes_that_are_dialled_at_once_join() -> None:
    pair = Pair()
    first, second = pair.left.hello(), pair.left.hello()
    answers = [answer(pair.right, first), answer(pair.right, second)]
    for mine, theirs in zip((first, second), reversed(answers), strict=True):
        pair.left.join(theirs, dialler=True, now=0.0, mine=mine)
    assert not events_of(pair.left) + events_of(pair.right)


def test_two_sites_that_dial_each_other_at_once() -> None:
    pair = Pair()
    from_left, from_right = pair.left.hello(), pair.right.hello()
    to_left, to_right = answer(pair.right, from_left), answer(pair.left, from_right)
    pair.left.join(to_left, dialler=True, now=0.0, mine=from_left)
    pair.right.join(to_right, dialler=True, now=0.0, mine=from_right)
    assert pair.left.hello().known_half == pair.right.hello().half
    assert pair.right.hello().known_half == pair.left.hello().half


def test_the_dialler_finds_that_the_answerer_has_restarted() -> None:
    pair = paired()
    stream = pair.left.streams.open("array", "")
    pair.right = tunnel("right", "left")
    mine = pair.left.hello()
    theirs = answer(pair.right, mine)
    theirs = replace(theirs, half=b"another half    ")
    pair.left.join(theirs, dialler=True, now=0.0, mine=mine)
    assert events_of(pair.left) == [
        StreamReset(stream, ResetCode.PEER_RESTARTED, LOST, remote=False),
        LaneDead(1, LOST),
        TunnelReset(LOST),
    ]
    assert pair.left.hello().half == mine.half
    assert pair.left.hello().known_half == b"another half    "


def test_the_answerer_finds_that_the_dialler_has_restarted() -> None:
    pair = paired()
    stream = pair.left.streams.open("array", "")
    old = pair.left.hello().half
    new = replace(tunnel("right", "left").hello(), half=b"another half    ")
    theirs = answer(pair.left, new)
    assert [event for event in events_of(pair.left) if isinstance(event, StreamReset)] == [
        StreamReset(stream, ResetCode.PEER_RESTARTED, LOST, remote=False)
    ]
    assert theirs.half != old
    assert theirs.known_half == b"another half    "


def test_two_sites_with_one_key_take_the_tunnel_from_each_other() -> None:
    """It looks like a line that comes and goes, so what is advised for that names the words by which to tell."""
    pair = paired()
    second = replace(tunnel("right", "left").hello(), half=b"that of a second")
    for hello in (second, pair.right.hello(), second):
        answer(pair.left, replace(hello, known_half=None))
        assert TunnelReset(LOST) in events_of(pair.left)
    assert LOST.removeprefix("right ").partition(":")[0] in FLAPPING.remedy
    assert "two sites run with the same key" in FLAPPING.remedy


def test_a_late_hello_of_a_dialler_that_has_restarted_leaves_its_new_streams_alone() -> None:
    """A lost packet held it back: what came later by a later connection counts. All streams were reset."""
    pair = Pair()
    late = pair.left.hello()
    pair.left = restarted("left", "right")
    pair.now = 5.0
    pair.dial(1)
    stream = pair.begin_stream(1)
    with pytest.raises(HelloRefused, match="by a later connection") as caught:
        pair.right.join(late, dialler=False, now=6.0, accepted=4.0)
    assert caught.value.code is CloseCode.SURPLUS
    assert pair.right.streams.remembers(stream)
    assert not [event for event in events_of(pair.right) if isinstance(event, TunnelReset)]


def test_who_is_taken_for_late_is_let_in_by_the_next_connection() -> None:
    """Its connection is older than that of its former half, which was quicker."""
    pair = Pair()
    former = pair.left.hello()
    pair.right.join(former, dialler=False, now=2.0, accepted=1.0)
    pair.left = restarted("left", "right")
    with pytest.raises(HelloRefused, match="dial again"):
        pair.right.join(pair.left.hello(), dialler=False, now=3.0, accepted=0.5)
    pair.right.join(pair.left.hello(), dialler=False, now=4.0, accepted=3.5)
    assert pair.right.hello().known_half == pair.left.hello().half


def test_a_late_hello_is_told_from_an_answer_as_well() -> None:
    pair = Pair()
    late = pair.right.hello()
    pair.right = restarted("right", "left")
    mine = pair.left.hello()
    pair.left.join(answer(pair.right, mine), dialler=True, now=5.0, mine=mine)
    with pytest.raises(HelloRefused, match="by a later connection"):
        pair.left.join(late, dialler=False, now=6.0, accepted=4.0)


def test_a_second_lane_of_a_restarted_dialler_finds_the_new_state() -> None:
    pair = paired()
    new = replace(tunnel("right", "left").hello(), half=b"another half    ")
    first = answer(pair.left, new)
    pair.left.lane_up(2, 0.0)
    stream = pair.left.streams.open("array", "")
    events_of(pair.left)
    second = answer(pair.left, new)
    assert second.half == first.half
    assert events_of(pair.left) == []
    assert pair.left.streams.sendable(stream) > 0


def test_a_dialler_that_knows_an_older_half_of_a_state_that_is_shared_again() -> None:
    """Its HELLO was on the way while another lane paired anew: the state lives, and the answer tells the dialler."""
    pair = paired()
    old = pair.right.hello()
    pair.left.abandon(ResetCode.GRACE_EXPIRED, "test", 0.0)
    answer(pair.left, old)
    pair.left.lane_up(2, 0.0)
    stream = pair.left.streams.open("array", "")
    events_of(pair.left)
    answer(pair.left, old)
    assert pair.left.streams.sendable(stream) > 0
    assert events_of(pair.left) == []


def test_an_answer_to_a_half_that_we_no_longer_have() -> None:
    pair = paired()
    mine = pair.left.hello()
    theirs = answer(pair.right, mine)
    pair.left.abandon(ResetCode.INTERNAL, "test", 0.0)
    with pytest.raises(HelloRefused, match="dial again") as caught:
        pair.left.join(theirs, dialler=True, now=0.0, mine=mine)
    assert caught.value.code == CloseCode.SURPLUS


def test_an_answer_that_another_lane_has_overtaken() -> None:
    pair = paired()
    mine = pair.left.hello()
    overtaken = replace(answer(pair.right, mine), half=b"second half     ")
    newest = replace(overtaken, half=b"third half      ")
    pair.left.join(newest, dialler=True, now=0.0, mine=mine)
    with pytest.raises(HelloRefused, match="another lane has come up meanwhile"):
        pair.left.join(overtaken, dialler=True, now=0.0, mine=mine)
    assert pair.left.hello().known_half == b"third half      "


def test_an_answer_that_names_nobody() -> None:
    pair = Pair()
    with pytest.raises(HelloRefused) as caught:
        pair.left.join(pair.right.hello(), dialler=True, now=0.0, mine=pair.left.hello())
    assert caught.value.code == CloseCode.HANDSHAKE


def test_lanes_of_a_lost_state_are_ignored() -> None:
    pair = paired()
    pair.dial(2)
    pair.left.abandon(ResetCode.INTERNAL, "test", 0.0)
    events_of(pair.left)
    pair.right.streams.open("array", "")
    pair.carry(1, pair.right)
    assert taken(pair.left, 1, 1000, 0.0) == []
    assert events_of(pair.left) == []


def test_refused_names_leave_the_state_alone() -> None:
    pair = paired()
    stream = pair.left.streams.open("array", "")
    with pytest.raises(HelloRefused) as caught:
        pair.left.join(replace(pair.right.hello(), site="north"), dialler=False, now=0.0)
    assert caught.value.code == CloseCode.WRONG_NAME
    assert pair.left.streams.sendable(stream) > 0


@pytest.mark.parametrize("change", [{"initial_credit": 1 << 20}, {"streams": 9}, {"capabilities": frozenset()}])
def test_settings_do_not_change_while_a_state_lives(change: dict[str, object]) -> None:
    pair = paired()
    stream = pair.left.streams.open("array", "")
    with pytest.raises(HelloRefused, match="right has changed its settings while streams live") as caught:
        pair.left.join(replace(pair.right.hello(), **change), dialler=False, now=0.0)  # type: ignore[arg-type]
    assert caught.value.code == CloseCode.SETTINGS
    assert pair.left.streams.sendable(stream) > 0


def test_abandoning_what_never_was_is_no_event() -> None:
    pair = Pair()
    half = pair.left.hello().half
    pair.left.abandon(ResetCode.SHUTDOWN, "test", 0.0)
    assert events_of(pair.left) == []
    assert pair.left.hello().half == half
