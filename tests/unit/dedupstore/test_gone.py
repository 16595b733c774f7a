"""What the index has to forget, and when: not before its slot is written over, and until it was committed."""

from pathlib import Path

import lmdb

from dedupstore.change import Change
from dedupstore.gone import Gone
from dedupstore.roster import Row
from tests.conformance.filling import A_CONTAINER, fill
from tests.unit.dedupstore.stores import opened

NAMES = [b"one", b"other"]
NAME = b"unsound"


def change(gone: Gone) -> Change:
    """All that may be committed now."""
    return Change(
        next=9, removed=gone.removed(), lost=dict(gone.lost), rows={container: Row(1) for container in gone.changed()}
    )


def test_a_container_is_forgotten_once_that_is_committed() -> None:
    gone = Gone()
    gone.remove(1, NAMES)
    first = change(gone)
    gone.remove(2, None)
    assert first.removed == {1: NAMES}
    gone.committed(first)
    assert gone.removed() == {2: []}


def test_a_displaced_container_is_not_forgotten_before_its_slot_is_written_over() -> None:
    """A crash would bring it back."""
    gone = Gone()
    gone.remove(1, NAMES)
    gone.displace(7, 1)
    assert gone.displaced(7) == 1
    assert not change(gone)
    gone.overwrite(7)
    assert gone.displaced(7) is None
    assert gone.removed() == {1: NAMES}


def test_what_was_displaced_in_slots_that_are_cut_off_is_forgotten_without_its_names() -> None:
    """Known or not: it is a full disk that has the file cut, and the index needs room to forget names."""
    gone = Gone()
    for container, slot, names in ((1, 7, None), (2, 8, None), (3, 9, NAMES)):
        gone.remove(container, names)
        gone.displace(slot, container)
    gone.cut(7)
    assert gone.removed() == {2: [], 3: []}
    assert [gone.displaced(slot) for slot in (7, 8, 9)] == [1, None, None]


def test_what_could_not_be_committed_is_forgotten_later_without_its_names() -> None:
    """A disk that fails for hours would have them take all memory."""
    gone = Gone()
    gone.remove(1, NAMES)
    gone.lost[NAME] = 2
    gone.refused(change(gone))
    again = change(gone)
    assert (again.removed, again.lost, set(again.rows)) == ({1: []}, {NAME: 2}, {2})


def test_a_chunk_that_is_lost_again_meanwhile_stays_so() -> None:
    """In another container."""
    gone = Gone()
    gone.lost[NAME] = 2
    first = change(gone)
    gone.lost[NAME] = 3
    gone.committed(first)
    assert gone.lost == {NAME: 3}
    gone.committed(change(gone))
    assert gone.lost == {}


def test_a_row_is_written_again_until_that_is_committed_or_its_container_goes() -> None:
    gone = Gone()
    for container in (1, 2, 3):
        gone.recount(container)
    gone.remove(3, NAMES)
    assert gone.changed() == {1, 2}
    gone.committed(Change(9, rows={1: Row(1)}))
    assert gone.changed() == {2}


def test_the_index_has_no_more_than_the_store_after_every_slot_was_written_over(path: Path) -> None:
    """Or it would be twice as large as it may be, and containers go for want of room in it."""
    store = opened(path)
    fill(store, range(A_CONTAINER * 30))
    figures = store.figures()
    store.close()
    with lmdb.open(str(path / "index"), max_dbs=8) as index, index.begin() as txn:
        counts = [txn.stat(index.open_db(name, txn))["entries"] for name in (b"container", b"chunk")]
    assert counts == [figures.containers, figures.chunks]
