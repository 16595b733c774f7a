"""However the length of frames is changed on the way, the credit pays for all of them."""

from functools import cache
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from dedupstore.chunker import Chunker
from dedupstore.store import ChunkStore
from proxy.iscsi.connection import Connection
from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import Opcode, Sender
from proxy.net.allowance import grain_and_allowance
from proxy.protocol.credit import SendCredit, Trust, cost_of
from proxy.protocol.outgoing import Outgoing, SendLedger
from proxy.reduction.compression import Compressor
from proxy.reduction.drafts import GRAIN_MAX
from proxy.reduction.encoder import Encoder
from proxy.reduction.span_encoder import SpanEncoder
from tests.unit.iscsi.pdus import data_out, login, pdu
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, encoder_of, noise, send, site, two_sites

LEAST = 4 << 10
"""What is read at least, and what frames have at least under a cap."""
GRAINS = st.sampled_from([LEAST, 16 << 10, 20_000, 64 << 10, GRAIN_MAX])


@settings(max_examples=200)
@given(st.integers(64 << 10, 400 << 10), GRAINS, GRAINS, st.integers(0, 3 << 20))
def test_frames_are_paid_for(initial: int, grain: int, last: int, at: int) -> None:
    """As a relay does it: all that is allowed is read, another lane says how long frames should be, a pause."""
    near, credit = site(ShelfStore()), SendCredit(initial, initial, Trust(0))
    encoder = Encoder(Chunker(), cast(ChunkStore, near.store), near.holdings, Compressor(None))

    def renewed(grain: int) -> int:
        encoder.grain, allowance = grain_and_allowance(credit.room, encoder.pending[0], grain)
        return allowance

    def ship() -> None:
        while (batch := encoder.take()) is not None:
            cost = cost_of(batch.plain, len(batch.data), lean=False)
            credit.spend(cost, cost)  # raises Misuse beyond the credit

    allowance = renewed(grain)
    while allowance >= LEAST:
        while allowance > 0:
            n = len(room := encoder.buffer(allowance))
            room[:] = data()[at : at + n]
            at, allowance = at + n, allowance - n
            encoder.received(n)
            if encoder.ready:
                ship()
                allowance = renewed(grain)
        allowance = renewed(last)
    encoder.flush()
    ship()
    assert credit.sent >= initial - initial // 8 - 2 * LEAST


@cache
def data() -> bytes:
    return noise(4 << 20)


@cache
def knowing() -> Site:
    """A site whose peer knows some of the data."""
    near, far = two_sites(ShelfStore(entries=1 << 10), ShelfStore(entries=1 << 10))
    send(near, far, [data()[: 1 << 20]], chunker=Chunker())
    return near


@settings(max_examples=200)
@given(
    st.integers(64 << 10, 400 << 10), GRAINS, st.lists(st.tuples(st.booleans(), st.integers(1, 400_000)), min_size=1)
)
def test_frames_are_paid_for_where_what_is_known_costs_less(
    initial: int, grain: int, parts: list[tuple[bool, int]]
) -> None:
    """As a relay does it: all that is allowed is read, of what is known and what is new in any order."""
    near, trust = knowing(), Trust(1 << 30)
    trust.prove(1 << 30)
    outgoing = Outgoing(SendLedger(1 << 30), SendCredit(initial, 1 << 30, trust), lean=True)
    encoder = Encoder(Chunker(), cast(ChunkStore, near.store), near.holdings, Compressor(None))
    said = b"".join(data()[:400_000][:n] if old else data()[-n:] for old, n in parts)

    def renewed() -> int:
        pending, known = encoder.pending
        sendable = min(outgoing.room, outgoing.room_beside(known))
        encoder.grain, allowance = grain_and_allowance(sendable, pending - known, grain)
        return allowance

    def ship() -> None:
        while (batch := encoder.take()) is not None:
            outgoing.push_data(batch.data, batch.plain)  # raises Misuse beyond the credit

    at, allowance = 0, renewed()
    while at < len(said) and allowance >= LEAST:
        while at < len(said) and allowance > 0:
            room = encoder.buffer(min(allowance, len(said) - at))
            room[:] = said[at : at + len(room)]
            at, allowance = at + len(room), allowance - len(room)
            encoder.received(len(room))
            if encoder.ready:
                ship()
                allowance = renewed()
        allowance = renewed()
    encoder.flush()
    ship()


def test_what_is_known_leaves_room_for_more() -> None:
    trust = Trust(1 << 30)
    trust.prove(1 << 30)
    outgoing = Outgoing(SendLedger(1 << 30), SendCredit(256 << 10, 1 << 30, trust), lean=True)
    assert outgoing.room_beside(0) <= outgoing.room
    assert outgoing.room_beside(240 << 10) > 180 << 10
    assert outgoing.room_beside(400 << 10) == 112 << 10, "a batch has a bound"
    trust.prove(0)
    assert outgoing.room_beside(240 << 10) < 16 << 10, "that much would be under way"


def test_where_costs_are_not_lean_what_is_known_costs_as_much_as_all_else() -> None:
    outgoing = Outgoing(SendLedger(1 << 30), SendCredit(256 << 10, 1 << 30, Trust(0)), lean=False)
    assert outgoing.room_beside(240 << 10) == outgoing.room - (240 << 10)


def test_frames_get_shorter_as_soon_as_that_can_be_paid() -> None:
    assert grain_and_allowance(100 << 10, 0, 16 << 10)[0] == 16 << 10
    assert grain_and_allowance(100 << 10, 90 << 10, 16 << 10)[0] == 16 << 10
    assert grain_and_allowance(100 << 10, 99 << 10, 16 << 10)[0] > 16 << 10
    assert grain_and_allowance(0, 1000, LEAST)[0] <= GRAIN_MAX


def test_frames_of_iscsi_are_paid_for_however_much_of_them_was_not_looked_at() -> None:
    """A long PDU, so that much is read at once, and then headers alone, which take more as records."""
    for initial in range(256 << 10, 288 << 10, 1 << 10):
        near, _ = two_sites()
        outgoing = Outgoing(SendLedger(1 << 30), SendCredit(initial, initial, Trust(0)), lean=False)
        encoder = SpanEncoder(encoder_of(near, Chunker()), Framer(Connection(), Sender.INITIATOR), lambda: 0.0)
        said = memoryview(login() + data_out(1, data()[: 64 << 10]) + pdu(Opcode.SNACK_REQUEST) * 6000)
        at, allowance = 0, renewed(encoder, outgoing)
        while allowance >= LEAST:
            n = len(room := encoder.buffer(allowance))
            room[:] = said[at : at + n]
            at, allowance = at + n, allowance - n
            encoder.received(n)
            if encoder.ready:
                ship(encoder, outgoing)
                allowance = renewed(encoder, outgoing)
            elif allowance < LEAST:
                allowance = renewed(encoder, outgoing)
        encoder.flush()
        ship(encoder, outgoing)
        assert at < len(said)


def renewed(encoder: SpanEncoder, outgoing: Outgoing) -> int:
    """As a relay does it."""
    pending, known = encoder.pending
    sendable = min(outgoing.room, outgoing.room_beside(known))
    encoder.grain, allowance = grain_and_allowance(sendable, pending - known, GRAIN_MAX)
    return encoder.affordable(allowance)


def ship(encoder: SpanEncoder, outgoing: Outgoing) -> None:
    while (batch := encoder.take()) is not None:
        outgoing.push_data(batch.data, batch.plain)  # raises Misuse beyond the credit
