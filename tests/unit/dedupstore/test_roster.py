"""Which containers there are, in what order they go, and which of them follow each other."""

from dedupstore.roster import Roster, Row


def test_what_the_same_writer_filled_next_is_known_as_long_as_both_are_there() -> None:
    """Also where the younger one goes first, since the older one is pinned."""
    roster = Roster()
    roster.add(1, Row(slot=1))
    for container in (2, 3):
        roster.add(container, Row(slot=container, before=container - 1))
    assert [roster.after(container) for container in (1, 2, 3)] == [2, 3, None]
    roster.remove(2)
    assert [roster.after(container) for container in (1, 2, 3)] == [None, None, None]


def test_counts_end_at_nothing() -> None:
    """A damaged index may count fewer chunks than there are, and a negative number could not be written."""
    roster = Roster()
    roster.add(1, Row(slot=1, entries=1, bytes=100))
    for _ in range(2):
        roster.lose(1, 80)
    assert (roster[1].entries, roster[1].bytes) == (0, 0)
    assert (roster.chunks, roster.bytes) == (0, 0)


def test_pins_are_counted() -> None:
    roster = Roster()
    for container in (1, 2):
        roster.add(container, Row(slot=container, settled=True))
    for _ in range(2):
        roster.pin(1)
    assert roster.evictable() == 2
    roster.unpin(1)
    assert (roster.evictable(), roster.pinned(1)) == (2, True)
    roster.unpin(1)
    assert (roster.evictable(), roster.pinned(1)) == (1, False)
