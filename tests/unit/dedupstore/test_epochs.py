"""A store's epochs: one for each opening of which a peer was told, so that a copy of the store is told apart."""

import shutil
from pathlib import Path

from tests.unit.dedupstore.stores import opened


def test_every_opening_draws_an_epoch(path: Path) -> None:
    known: list[bytes] = []
    identities = set()
    for _ in range(20):
        store = opened(path)
        known.insert(0, store.epochs[0])
        assert store.epochs == tuple(known[:16])
        store.announce()
        identities.add(store.identity)
        store.close()
    assert len(set(known)) == 20
    assert len(identities) == 1


def test_openings_that_no_peer_heard_of_drive_out_no_epoch(filled: Path) -> None:
    store = opened(filled)
    known = store.epochs
    store.announce()
    store.close()
    for _ in range(20):
        store = opened(filled)
        assert store.epochs[1:] == known
        store.close()


def test_an_epoch_stays_when_the_store_was_not_closed_in_order(filled: Path, tmp_path: Path) -> None:
    """A peer may have been told of it."""
    store = opened(filled)
    shutil.copytree(filled, tmp_path / "killed")
    later = opened(tmp_path / "killed")
    assert later.epochs[1:] == store.epochs
    later.close()
    store.close()


def test_a_copy_that_is_older_is_told_by_its_epochs(filled: Path, tmp_path: Path) -> None:
    """Row 20: a store restored from an old copy does not know the newest epoch that a peer has seen."""
    shutil.copytree(filled, tmp_path / "copy")
    store = opened(filled)
    seen = store.epochs[0]
    store.announce()
    store.close()
    restored = opened(tmp_path / "copy")
    assert restored.identity == store.identity
    assert seen not in restored.epochs
    restored.close()


def test_clones_are_told_apart_by_their_epochs(filled: Path, tmp_path: Path) -> None:
    """Row 20: each of two stores with one identity has an epoch that the other does not know."""
    shutil.copytree(filled, tmp_path / "clone")
    one, two = opened(filled), opened(tmp_path / "clone")
    assert one.identity == two.identity
    assert one.epochs[0] not in two.epochs
    assert two.epochs[0] not in one.epochs
    one.close()
    two.close()
