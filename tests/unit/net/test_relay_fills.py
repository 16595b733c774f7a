"""Chunks that one side lacks: what a relay answers who asks for them, and what it takes for an answer."""

import pytest

from proxy.net.misses import AT_ONCE
from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import PeerError
from proxy.reduction.compression import zstd
from tests.unit.net.connected import Connected, connection
from tests.unit.net.loop import Loop
from tests.unit.reduction.batches import CHUNK, NAME, OTHER, OTHER_NAME, WHOLE, batch
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import site


@pytest.mark.parametrize("data", [b"", b"chunk"], ids=["gone", "chunk"])
def test_a_chunk_that_cannot_be_filled_suspends_references(connected: Connected, data: bytes) -> None:
    connected.relay.fill(NAME, data)
    assert connected.owner.holdings.reliability.gone.called == (not data)


@pytest.mark.parametrize("size", [0, 500], ids=["gone", "chunk"])
@pytest.mark.parametrize("asked", [False, True], ids=["nothing was", "another was"])
def test_a_fill_of_what_was_not_asked_for_is_a_breach(connected: Connected, asked: bool, size: int) -> None:
    """Also one that says that the chunk is gone: nobody has named it."""
    if asked:
        connected.relay.delivery.data(batch(WHOLE, plain=1000))
    with pytest.raises(PeerError, match="FILL on stream 1 broke the protocol: the stream has not asked"):
        connected.relay.delivery.filled(OTHER_NAME, 0, size, OTHER[:size])
    assert not connected.relay.closed


@pytest.mark.parametrize("size", [0, 1000], ids=["gone", "chunk"])
def test_so_is_one_while_the_stream_waits_for_its_turn_to_ask(connected: Connected, size: int) -> None:
    for stream in range(3, 3 + 2 * AT_ONCE, 2):
        connected.owner.misses.ask(stream, [OTHER_NAME])
    connected.relay.delivery.data(batch(WHOLE, plain=1000))
    with pytest.raises(PeerError, match="FILL on stream 1 broke the protocol: the stream has not asked"):
        connected.relay.delivery.filled(NAME, 0, size, CHUNK[:size])


def test_a_fill_that_cannot_be_decoded_is_named_as_the_frame_at_fault(connected: Connected) -> None:
    """The DATA before it is right."""
    connected.relay.delivery.data(batch(WHOLE, plain=1000))
    with pytest.raises(PeerError, match="FILL on stream 1 broke the protocol: zstd frame cannot be decoded"):
        connected.relay.delivery.filled(NAME, 1, 1000, b"no frame")


def test_a_fill_in_a_codec_that_was_not_agreed_on(loop: Loop) -> None:
    with connection(site(ShelfStore()), without="zstd") as connected:
        connected.relay.delivery.data(batch(WHOLE, plain=1000))
        with pytest.raises(PeerError, match="FILL on stream 1 broke the protocol: codec 1, which was not agreed on"):
            connected.relay.delivery.filled(NAME, 1, 1000, zstd(1)(CHUNK))


def test_a_chunk_that_is_gone_ends_the_stream_that_asked_for_it(connected: Connected) -> None:
    connected.relay.delivery.data(batch(WHOLE, plain=1000))
    connected.relay.delivery.filled(NAME, 0, 0, b"")
    ((stream, code, _), _) = connected.owner.streams.reset.call_args
    assert (stream, code) == (1, ResetCode.CHUNK_LOST)
