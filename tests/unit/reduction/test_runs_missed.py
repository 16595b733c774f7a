"""Runs from one container into the next, and what is counted of those that are missed."""

from unittest.mock import Mock, call

import pytest

from dedupstore.fingerprint import fingerprint
from proxy.reduction.errors import BatchError
from proxy.reduction.obtaining import Needs
from proxy.reduction.tokens import reference_token, run_token
from tests.unit.reduction.batches import advanced, batch, hold
from tests.unit.reduction.runs import CHUNKS, FIRST, NAMES, known, mostly_cold, out_of_order, run_of, written
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import DATA, Site, Stream, decoder_of, site


def towards_a_second_peer(count: int) -> Site:
    """A site that has exchanged CHUNKS with one peer, in containers of five, and the first `count` with another one."""
    far = site(ShelfStore(entries=5))
    hold(far, *CHUNKS)
    other = site(far.store, b"a second peer's store")
    for name in NAMES[:count]:
        place = far.store.find(name)
        assert place is not None
        other.holdings.add(place)
    return other


def test_another_peers_chunks_in_the_next_container_are_no_run() -> None:
    """The first container's five chunks are this peer's, too; what was stored behind them is not."""
    other = towards_a_second_peer(5)
    token, name, _ = run_of(*NAMES[1:6])
    decoder = decoder_of(other)
    assert decoder.feed(batch(FIRST, token, plain=6000)) is None
    assert decoder.obtaining.needs() == Needs(load_behind=NAMES[4])
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=[name])


def test_a_list_that_a_peer_has_filled_gives_it_no_other_peers_chunk() -> None:
    """Not even one that lies behind a run that was found."""
    other = towards_a_second_peer(3)
    token, name, listed = run_of(*NAMES[1:4])
    decoder = decoder_of(other)
    assert decoder.feed(batch(FIRST, run_of(*NAMES[1:3])[0], plain=3000)) is not None
    assert decoder.feed(batch(FIRST, token, plain=4000)) is None
    assert decoder.obtaining.needs() == Needs(load_behind=NAMES[0])
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=[name])
    decoder.obtaining.fill(name, listed)
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=[NAMES[3]])


def test_each_run_is_looked_for() -> None:
    """Also after one that was found once what follows was loaded."""
    far = mostly_cold(3)
    decoder = decoder_of(far)
    for first in (2, 5):
        token, _, _ = run_of(*NAMES[first + 1 : first + 3])
        assert decoder.feed(batch(reference_token(NAMES[first]), token, plain=3000)) is None
        assert decoder.obtaining.needs() == Needs(load_behind=NAMES[first])
        far.store.prefetch(NAMES[first])
        assert advanced(decoder) == b"".join(CHUNKS[first : first + 3])


def test_of_a_list_that_is_no_list_of_fingerprints_nothing_is_asked_for() -> None:
    """Its turn has not come when the batch asks for more, and the peer would be asked for what is no name."""
    decoder = decoder_of(site(ShelfStore()))
    token, name, listed = run_of(NAMES[1], NAMES[2])
    wrong = bytes(33)
    tokens = FIRST, token, reference_token(NAMES[3]), run_token(2, fingerprint(wrong))
    assert decoder.feed(batch(*tokens, plain=6000)) is None
    first = Needs(ask=[NAMES[0], name, NAMES[3], fingerprint(wrong)])
    assert decoder.obtaining.needs() == first
    for asked, data in zip(first.ask, (CHUNKS[0], listed, CHUNKS[3], wrong), strict=True):
        decoder.obtaining.fill(asked, data)
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=NAMES[1:3])
    for number in (1, 2):
        decoder.obtaining.fill(NAMES[number], CHUNKS[number])
    with pytest.raises(BatchError, match="a list of 33 bytes for a RUN of 2 chunks"):
        decoder.advance()


def counted(near: Site, monkeypatch: pytest.MonkeyPatch) -> tuple[Mock, Mock]:
    """What is told of references that ended, and of bytes that were found."""
    reliability = near.holdings.reliability
    told = Mock(wraps=reliability.ended), Mock(wraps=reliability.found)
    monkeypatch.setattr(reliability, "ended", told[0])
    monkeypatch.setattr(reliability, "found", told[1])
    return told


def test_runs_that_are_missed_are_no_missed_references(monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = out_of_order()
    ended, found = counted(near, monkeypatch)
    stream = written(near, far)
    stream.settle()
    assert stream.lists == 1
    assert ended.call_args_list == [call(len(near.store.names), 0)]
    found.assert_not_called()


def test_a_chunk_of_a_run_that_is_missed_is_a_missed_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = known()
    far.store.lose(far.store.names[3])
    ended, found = counted(near, monkeypatch)
    written(near, far).settle()
    assert ended.call_args_list == [call(len(near.store.names), 1)]
    found.assert_not_called()


def test_references_of_a_stream_that_is_reset_are_under_way_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do they say anything of what the peer holds."""
    near, far = known()
    ended, found = counted(near, monkeypatch)
    written(near, far).abandon()
    assert ended.call_args_list == [call(len(near.store.names), 0)]
    found.assert_not_called()


def test_what_is_lost_again_may_be_missed_again() -> None:
    near, far = known()
    lost = far.store.names[3]
    stream = Stream(near, far)
    for _ in range(2):
        far.store.lose(lost)
        stream.write(DATA)
        stream.border()
        stream.take()
        stream.settle()
    assert stream.misses == 2
    stream.end()
