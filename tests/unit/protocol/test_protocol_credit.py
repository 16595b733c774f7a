"""Flow control: credit is never exceeded, and what is consumed makes room for more."""

import pytest

from proxy.protocol.codes import Capability, ResetCode
from proxy.protocol.credit import LEAN_PART, TRUST_PART, WIDE, SendCredit, Trust, cost_of
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.events import Writable
from proxy.protocol.frames import OVER
from proxy.protocol.reader import PLAIN_MAX
from tests.unit.protocol.playbook import Script

KIB, MIB = 1 << 10, 1 << 20


def test_data_costs_its_plain_length_and_256() -> None:
    credit = SendCredit(1000, 1 << 30, Trust(0))
    credit.spend(cost_of(100, 50, lean=False), 356)
    assert (credit.sent, credit.room) == (356, 388)
    credit.spend(cost_of(388, 50, lean=False), 644)
    assert credit.room == 0
    with pytest.raises(Misuse, match="a frame that costs 257 was to be sent with credit for 0"):
        credit.spend(cost_of(1, 13, lean=False), 257)


def test_where_costs_are_lean_data_costs_what_it_takes_to_keep() -> None:
    assert cost_of(262144, 100_000, lean=True) == 100_256, "as it came"
    assert cost_of(262144, 100, lean=True) == 262144 // LEAN_PART + 256, "however short it is"
    assert cost_of(262144, 270_000, lean=True) == 262144 + 256, "never more than otherwise"
    assert cost_of(1, 13, lean=True) == 257


@pytest.mark.parametrize(("capabilities", "cost"), [((Capability.LEAN,), 8192 + 256), ((), 65000 + 256)])
def test_costs_are_lean_if_both_can(capabilities: tuple[Capability, ...], cost: int) -> None:
    script = Script(capabilities=capabilities)
    script.accepted(1)
    assert script.send(1, 65000, 8180) == cost
    script.open(2)
    script.data(2, 1, 65000, 8180)
    script.flush()
    script.tunnel.streams.consumed(2)
    script.at(1.0)
    assert any(frame.startswith(f"CREDIT 2:{cost}/") for frame in script.take())


def known(credit: SendCredit, mib: int) -> None:
    """So much is sent of what the peer knows."""
    for _ in range(4 * mib):
        credit.spend(cost_of(MIB // 4, 100, lean=True), MIB // 4 + 256)


def test_of_known_data_no_more_than_the_window_is_under_way_until_the_peer_is_trusted() -> None:
    trust = Trust(1 << 30)
    credit = SendCredit(8 * MIB, 64 * MIB, trust)
    known(credit, 8)
    assert credit.room == 0
    trust.prove(8 * MIB // TRUST_PART)
    assert credit.room == 0
    trust.prove(9 * MIB // TRUST_PART)
    assert credit.room > 6 * MIB
    trust.prove(0)
    assert credit.room == 0
    credit.update(credit.sent // 2, 12 * MIB)
    assert 7 * MIB < credit.room < 8 * MIB, "what is consumed makes room"


def test_who_waits_for_room_hears_that_the_peer_is_trusted() -> None:
    script = Script(capabilities=[Capability.LEAN])
    script.accepted(1)
    script.credit(1, 0, 8 * MIB)
    while size := script.tunnel.streams.sendable(1):
        script.send(1, size)
        script.take()
    script.tunnel.streams.await_room(1)
    assert script.events() == []
    script.tunnel.streams.trust(1 << 30)
    assert script.events() == [Writable(1)]


def test_a_trusted_peer_has_no_more_under_way_than_twice_the_largest_window() -> None:
    trust = Trust(1 << 40)
    trust.prove(1 << 40)
    credit = SendCredit(16 * MIB, 16 * MIB, trust)
    known(credit, WIDE * 16 - 1)
    assert 0 < credit.room < MIB


@pytest.mark.parametrize(("most", "proven"), [(32 * MIB, 1 << 40), (1 << 40, 32 * MIB // TRUST_PART)])
def test_all_streams_together_have_a_bound_and_each_keeps_its_window(most: int, proven: int) -> None:
    """So one whose array takes nothing does not keep another from sending. The bound follows what was found."""
    trust = Trust(most)
    trust.prove(proven)
    stuck, other = (SendCredit(8 * MIB, 64 * MIB, trust) for _ in range(2))
    known(stuck, 33)
    assert other.room == 8 * MIB - 256
    known(other, 7)
    assert 0 < other.room < MIB
    stuck.close()
    other.close()
    assert trust.under_way == 0


@pytest.mark.parametrize("by", ["us", "the peer"])
def test_what_a_stream_that_is_reset_had_under_way_counts_no_more(by: str) -> None:
    """Otherwise the peer were trusted in vain, for as long as the tunnel lasts."""
    script = Script(capabilities=(Capability.LEAN,), memory=MIB)
    script.accepted(1)
    script.accepted(3)
    script.tunnel.streams.trust(1 << 30)
    script.credit(1, 0, 8 * MIB)
    for _ in range(4 * WIDE):
        script.send(1, MIB // 4, 100)
    script.send(3, 60_000, 100)
    assert script.tunnel.streams.sendable(3) == 64 * KIB - 60_000 - 2 * 256, "its window in plain bytes"
    if by == "us":
        script.tunnel.streams.reset(1, ResetCode.ORIGIN_RESET, "")
    else:
        script.reset(1, 1)
    assert script.tunnel.streams.sendable(3) == 64 * KIB - 60_000 // LEAN_PART - 2 * 256, "what its credit allows"


def test_lean_credit_is_no_more_than_was_given() -> None:
    script = Script(capabilities=(Capability.LEAN,))
    script.open(2)
    for number in range(1, 8):
        script.data(2, number, 65000, 8180)
    with pytest.raises(PeerError, match=r"DATA 8 of stream 2.*exceed the credit"):
        script.data(2, 8, 65000, 8180)


def test_the_peer_may_use_its_credit_to_the_last_byte_and_not_beyond() -> None:
    script = Script()
    script.open(2)
    script.data(2, 1, 65536 - 256)
    with pytest.raises(PeerError, match=r"DATA 2 of stream 2.*257 exceed the credit: 65536 of 65536 were used"):
        script.data(2, 2, 1)


def test_tiny_frames_cost_what_they_take_to_keep() -> None:
    script = Script()
    script.open(2)
    for number in range(1, 256):
        script.data(2, number, 1)
    with pytest.raises(PeerError, match="exceed the credit"):
        script.data(2, 256, 1)


def test_sending_beyond_the_credit_is_our_own_mistake() -> None:
    script = Script()
    script.accepted(1)
    with pytest.raises(Misuse):
        script.send(1, 65536 - 255)
    script.send(1, 65536 - 256)


def test_however_much_a_peer_allows_no_more_than_our_own_largest_window_is_under_way() -> None:
    """What its array has not taken stays here to be asked for: a peer that takes nothing would have us keep it all."""
    script = Script(window_max=MIB)
    script.accepted(1)
    script.credit(1, 0, (1 << 64) - 1)
    sent, number = 0, 1
    while (plain := script.tunnel.streams.sendable(1)) and sent < 4 * MIB:
        script.send(1, plain)
        sent, number = sent + plain, number + 1
        script.take()
        script.acknowledge(1, number)
    assert MIB - 64 * KIB < sent < MIB
    script.credit(1, cost_of(PLAIN_MAX, 12, lean=False), (1 << 64) - 1)
    assert 0 < script.tunnel.streams.sendable(1) <= PLAIN_MAX, "what was taken makes room"


def test_nothing_is_consumed_that_has_not_come() -> None:
    script = Script()
    script.open(2)
    script.data(2, 1, 100)
    script.tunnel.streams.consumed(2)
    with pytest.raises(Misuse, match="more DATA was consumed than has arrived"):
        script.tunnel.streams.consumed(2)


def test_what_is_consumed_is_what_came_first() -> None:
    script = Script()
    script.open(2)
    for number, plain in enumerate((20_000, 100, 30_000), 1):
        script.data(2, number, plain)
    script.flush()
    consumed = 0
    for plain in (20_000, 100, 30_000):
        script.tunnel.streams.consumed(2)
        consumed += plain + 256
        script.at(script.now + 1.0)
        assert f"CREDIT 2:{consumed}/{consumed + 64 * KIB}" in script.take()


def test_a_tunnel_counts_what_it_has_promised() -> None:
    script = Script(memory=MIB)
    script.open(2)
    script.tunnel.streams.open("array", "")
    assert script.tunnel.figures.credit_bytes == 2 * 64 * KIB


def test_what_was_promised_to_a_stream_comes_back_once() -> None:
    """When it is reset, and not again when the peer has heard of that: there would be room for more than there is."""
    script = Script(memory=MIB)
    script.open(2)
    script.open(4)
    script.tunnel.streams.reset(2, ResetCode.ORIGIN_RESET, "")
    assert script.tunnel.figures.credit_bytes == 64 * KIB
    script.take()
    script.acknowledge(2, OVER)
    assert script.tunnel.figures.credit_bytes == 64 * KIB


def test_what_would_follow_the_end_behind_a_gap_is_not_kept() -> None:
    """There is no room for it in the budget, and it could never be delivered."""
    script = Script()
    script.open(2)
    script.tunnel.streams.accept(2)
    script.end(2, 1)
    with pytest.raises(PeerError, match="DATA 3 of stream 2 broke the protocol: it comes after END"):
        script.data(2, 3, 100, 100)
