"""Events: numbered, bounded, merged where they repeat, taken up again after a restart."""

from proxy.observe import codes
from proxy.observe.answers import Event
from proxy.observe.codes import CODES
from proxy.observe.events_document import PATH, document
from proxy.observe.journal import EVENTS_MAX, WORDS_MAX, Journal
from tests.unit.observe.snapshots import NOW


def test_numbers_rise_and_after_gives_what_is_new() -> None:
    journal = Journal()
    for at in range(5):
        journal.note(codes.STARTED, "site", f"start {at}", NOW + at)
    assert [event.number for event in journal.after(3, 10).events] == [4, 5]
    assert [event.number for event in journal.after(0, 2).events] == [4, 5]
    assert (journal.after(9, 10).events, journal.last) == ([], 5)


def test_the_oldest_goes() -> None:
    journal = Journal()
    for at in range(EVENTS_MAX + 10):
        journal.note(codes.STARTED, "site", f"start {at}", NOW + 100 * at)
    answer = journal.after(0, 10_000)
    assert (answer.first, answer.last, len(answer.events)) == (11, EVENTS_MAX + 10, EVENTS_MAX)


def test_what_repeats_within_a_minute_is_counted() -> None:
    journal = Journal()
    heard: list[Event] = []
    journal.listen(heard.append)
    for second in (0, 10, 59, 61):
        journal.note(codes.TUNNEL_DOWN, "peer west", "gone", NOW + second)
    journal.note(codes.TUNNEL_DOWN, "peer north", "gone", NOW + 61)
    assert [(event.count, event.time - NOW) for event in journal.after(0, 10).events] == [(3, 0), (1, 61), (1, 61)]
    assert [event.count for event in heard] == [1, 2, 3, 1, 1]
    assert journal.counts["IST-102"] == 5


def test_strangers_cannot_flush_it() -> None:
    journal = Journal()
    for at in range(1000):
        journal.note(codes.REFUSED, "tunnel listener", f"from port {at}", NOW + at / 100)
    (event,) = journal.after(0, 10).events
    assert (event.count, event.words, event.time) == (1000, "from port 999", NOW)  # the newest of them is shown


def test_nor_can_a_peer_that_comes_and_goes() -> None:
    journal = Journal()
    journal.note(codes.STARTED, "site", "start", NOW)
    journal.note(codes.TUNNEL_DOWN, "peer west", "gone", NOW)
    for at in range(1, EVENTS_MAX + 1):
        journal.note(codes.TUNNEL_UP if at % 2 else codes.TUNNEL_DOWN, "peer north", f"{at}", NOW + at)
    kept = journal.after(0, EVENTS_MAX).events
    assert [event.subject for event in kept[:3]] == ["site", "peer west", "peer north"]
    assert (len(kept), kept[2].words, kept[-1].words) == (EVENTS_MAX, "3", str(EVENTS_MAX))
    journal.note(codes.TUNNEL_DOWN, "peer west", "gone", NOW + 1)
    assert journal.after(0, EVENTS_MAX).events[1].count == 2


def test_of_as_many_subjects_as_events_the_oldest_goes() -> None:
    journal = Journal()
    for at in range(EVENTS_MAX + 3):
        journal.note(codes.TUNNEL_DOWN, f"peer {at}", "gone", NOW)
    assert (journal.after(0, 1).first, len(journal.after(0, EVENTS_MAX + 3).events)) == (4, EVENTS_MAX)


def test_words_are_printable_and_short() -> None:
    journal = Journal()
    journal.note(codes.STARTED, "site", "\x1b[2J" + "x" * 10_000, NOW)
    words = journal.after(0, 1).events[0].words
    assert words.isprintable()
    assert len(words) <= WORDS_MAX


def test_it_goes_on_after_a_restart() -> None:
    former, journal = Journal(), Journal()
    for at in range(3):
        former.note(codes.STARTED, "site", f"start {at}", NOW + 100 * at)
    journal.restore(former.after(0, 10).events)
    journal.note(codes.STARTED, "site", "again", NOW + 1000)
    assert [event.number for event in journal.after(0, 10).events] == [1, 2, 3, 4]


def test_it_goes_on_behind_a_gap() -> None:
    """A crash may have cost some events of an earlier run."""
    former, journal = Journal(), Journal()
    for at in range(5):
        former.note(codes.STARTED, "site", f"start {at}", NOW + 100 * at)
    journal.restore(event for event in former.after(0, 10).events if event.number not in (3, 4))
    for second in (0, 1):
        journal.note(codes.TUNNEL_DOWN, "peer west", "gone", NOW + 1000 + second)
    assert [(event.number, event.count) for event in journal.after(0, 10).events] == [(1, 1), (2, 1), (5, 1), (6, 2)]


def test_codes_are_unique_and_complete() -> None:
    names = [code.code for code in CODES]
    assert len(set(names)) == len(names)
    assert names == sorted(names)
    assert all(code.remedy or code.severity == "info" for code in CODES)


def test_the_document_is_up_to_date() -> None:
    assert PATH.read_text() == document(), "run python -m proxy.observe.events_document"
