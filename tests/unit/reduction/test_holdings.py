"""What one site believes the other's store to hold: per peer and chunk, doubted on a miss."""

from itertools import count
from typing import cast
from unittest.mock import Mock

import pytest

from dedupstore.beliefs import MOST_PEERS, MOST_STORES, Beliefs
from dedupstore.fingerprint import fingerprint
from dedupstore.memory import MemoryStore
from dedupstore.store import ChunkStore, Place
from proxy.reduction.holdings import Holdings, belief_key, recognise
from tests.unit.reduction.shelf import ShelfStore

HERE, THERE, ELSEWHERE = (1, 0), (1, 1), (7, 1135)


@pytest.fixture
def store() -> ChunkStore:
    return cast(ChunkStore, ShelfStore())


def test_nothing_is_believed_at_first(store: ChunkStore) -> None:
    assert not Holdings(store, b"peer").holds(HERE)


def test_each_chunk_is_believed_and_doubted_by_itself(store: ChunkStore) -> None:
    holdings = Holdings(store, b"peer")
    for place in (HERE, THERE, ELSEWHERE):
        holdings.add(place)
    holdings.doubt(THERE)
    assert [holdings.holds(place) for place in (HERE, THERE, ELSEWHERE)] == [True, False, True]
    holdings.add(THERE)
    assert holdings.holds(THERE)


def test_belief_belongs_to_one_peers_store(store: ChunkStore) -> None:
    Holdings(store, b"one").add(HERE)
    assert not Holdings(store, b"other").holds(HERE)


def test_the_store_remembers(store: ChunkStore) -> None:
    Holdings(store, b"peer").add(ELSEWHERE)
    assert Holdings(store, b"peer").holds(ELSEWHERE)
    Holdings(store, b"peer").doubt(ELSEWHERE)
    assert not Holdings(store, b"peer").holds(ELSEWHERE)


def test_more_containers_than_are_cached(store: ChunkStore) -> None:
    holdings = Holdings(store, b"peer")
    for container in range(20_000):
        holdings.add((container, container % 1136))
    assert all(holdings.holds((container, container % 1136)) for container in range(20_000))
    assert not holdings.holds((3, 4))


def test_what_a_disk_that_is_away_cannot_tell_is_neither_kept_nor_written_over(
    store: ChunkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the rest of the tunnel's life nothing was believed of a container that was asked about meanwhile. And the
    first chunk that was exchanged then took the place of all that the store had written down."""
    Holdings(store, b"peer").add(HERE)
    holdings = Holdings(store, b"peer")
    with monkeypatch.context() as away:
        away.setattr(store, "belief", lambda *_: None)
        assert not holdings.holds(HERE)
        holdings.add(THERE)
        holdings.add_all([THERE])
        holdings.doubt(THERE)
    assert holdings.holds(HERE)
    assert Holdings(store, b"peer").holds(HERE)
    holdings.add(THERE)
    assert holdings.holds_all(HERE, 2)


def test_no_more_containers_are_cached_than_is_said(store: ChunkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of terabytes has hundreds of thousands; whoever is asked again was forgotten."""
    holdings, asked, many = Holdings(store, b"peer"), Mock(return_value=0), 17_000
    monkeypatch.setattr(store, "belief", asked)
    for container in (*range(many), *range(many)):
        holdings.holds((container, 0))
    assert asked.call_count == 2 * many


def test_all_behind_a_place_are_shared_up_to_the_last(store: ChunkStore) -> None:
    """Or a peer would be given what is another's."""
    holdings = Holdings(store, b"peer")
    for entry in (3, 4, 5, 7):
        holdings.add((1, entry))
    assert [holdings.shares_all((1, 3), count) for count in range(4)] == [True, True, True, False]
    assert [holdings.shares_all((1, 5), count) for count in range(3)] == [True, False, False]
    assert holdings.shares_all((1, 6), 1)


def test_what_is_under_way_is_shared_before_it_is_held(store: ChunkStore) -> None:
    """Two streams may teach the same chunk; it is under way until neither does."""
    holdings = Holdings(store, b"peer")
    seen = []
    for step in (holdings.send, holdings.send, holdings.unsend, holdings.unsend):
        step([HERE, THERE])
        seen.append(holdings.shares(HERE))
    assert seen == [True, True, True, False]
    assert not holdings.holds(HERE)
    holdings.add(HERE)
    assert holdings.shares(HERE)


# -- a store that is met again -----------------------------------------------------------------------------------


FIRST, SECOND, OTHER = b"epoch--1", b"epoch--2", b"epoch--9"
PEER = belief_key("west", b"west's store    ")


def met() -> tuple[MemoryStore, Place]:
    """A store that believes the peer's, which was of its first epoch, to hold a chunk."""
    store = MemoryStore(16 << 20)
    place = store.put(fingerprint(b"chunk"), b"chunk")
    assert place is not None
    assert recognise(store, PEER, [FIRST])
    Holdings(store, PEER).add(place)
    return store, place


def test_a_store_that_went_on_is_believed() -> None:
    store, place = met()
    assert recognise(store, PEER, [SECOND, FIRST])
    assert Holdings(store, PEER).holds(place)


def test_one_of_another_past_is_not() -> None:
    store, place = met()
    assert not recognise(store, PEER, [OTHER])
    assert not Holdings(store, PEER).holds(place)
    assert recognise(store, PEER, [OTHER])


def test_belief_of_no_known_epoch_is_none() -> None:
    """Its peer had been forgotten while a stream still noted what it holds."""
    store, place = met()
    holdings = Holdings(store, PEER)
    store.disbelieve(PEER)
    holdings.add(place)
    assert recognise(store, PEER, [OTHER])
    assert not Holdings(store, PEER).holds(place)


def test_a_peer_that_comes_with_ever_new_stores_costs_no_other_what_is_known_of_it() -> None:
    store, place = met()
    for number in range(MOST_PEERS + 1):
        recognise(store, belief_key("rogue", number.to_bytes(16, "big")), [OTHER])
    assert recognise(store, PEER, [FIRST])
    assert Holdings(store, PEER).holds(place)


@pytest.mark.parametrize("pace", [1, 0, -1])
def test_nor_do_many_that_each_come_with_a_few(pace: int) -> None:
    """However long ago it has come itself, and whatever the clock does: its tunnel may have been up ever since."""
    times = count(10_000, pace)
    beliefs = Beliefs(lambda: next(times))
    beliefs.remember(PEER, FIRST)
    sites = MOST_PEERS // MOST_STORES + 6
    for number in range(MOST_STORES):
        for site in range(sites):
            beliefs.remember(belief_key(f"spoke {site}", bytes([number])), OTHER)
    newest = {belief_key(f"spoke {site}", bytes([MOST_STORES - 1])) for site in range(sites)}
    assert beliefs.recall(PEER) == FIRST
    assert len(beliefs.peers) == MOST_PEERS
    assert pace < 1 or newest <= beliefs.peers.keys()


def test_a_new_store_drives_out_the_former_one_of_its_site_though_the_clock_was_set_back() -> None:
    """That one seemed to be the newer, and there was none that could go."""
    times = iter([100.0] * MOST_PEERS + [50.0])
    beliefs = Beliefs(lambda: next(times))
    for site in range(MOST_PEERS):
        beliefs.remember(belief_key(f"spoke {site}", b"old"), OTHER)
    before = {*beliefs.peers}
    beliefs.remember(belief_key("spoke 7", b"new"), FIRST)
    assert before - beliefs.peers.keys() == {belief_key("spoke 7", b"old")}
    assert beliefs.recall(belief_key("spoke 7", b"new")) == FIRST


def test_a_site_is_known_by_its_name_and_a_store_by_both() -> None:
    keys = [belief_key(name, identity) for name in ("west", "east") for identity in (b"one", b"two")]
    assert len(set(keys)) == 4
    assert len({key[:8] for key in keys}) == 2
    assert {len(key) for key in keys} == {16}
