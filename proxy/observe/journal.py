"""The journal: a bounded list of events. If the same happens again within a minute, the event's count rises.

When the journal is full, the oldest event of the subject with the most events is dropped: a peer that comes and goes
each second makes 2,000 in a quarter of an hour, and must not drive out what happened to the others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from proxy.observe.answers import Event, EventsAnswer
from proxy.observe.codes import Code
from proxy.text import printable

EVENTS_MAX = 2000
"""Events that are kept."""
WORDS_MAX = 400
"""Characters of an event's words and subject: some of them are a peer's own."""
MERGE_SECONDS = 60.0
MERGED_MAX = 64
"""Subjects that are watched for repetition at once."""


class Journal:
    """Loop thread. `now` is the time of day, seconds since 1970."""

    def __init__(self) -> None:
        self._events: dict[int, Event] = {}
        """By number, which rises."""
        self._by_subject = Counter[str]()
        self.last = 0
        """Number of the newest event; 0 before the first."""
        self.counts = Counter[str]()
        """Events by code, since the start, each repetition counted."""
        self._last: dict[tuple[str, str], Event] = {}
        """The last event of each subject, and of each code that floods."""
        self._listeners: list[Callable[[Event], None]] = []

    def listen(self, call: Callable[[Event], None]) -> None:
        """Call for each event from now on, also for one whose count has risen (with the number that it had)."""
        self._listeners.append(call)

    def note(self, code: Code, subject: str, words: str, now: float, *, remedy: str = "") -> None:
        """Add an event, or count a repetition. `remedy`: in place of the code's own."""
        subject, words = printable(subject)[:WORDS_MAX], printable(words)[:WORDS_MAX]
        event = self._repeated(code, subject, words, now)
        if event is None:
            self.last += 1
            event = Event(self.last, now, code.code, code.severity, subject, words, remedy or code.remedy, 1)
            self._add(event)
        self.counts[code.code] += 1
        self._remember(code, event)
        for call in self._listeners:
            call(event)

    def restore(self, events: Iterable[Event]) -> None:
        """Take in events of earlier runs, oldest first; numbers may be missing. Before the first `note`."""
        assert not self.last
        for event in events:
            self.last = event.number
            self._add(event)

    def holds(self, number: int) -> bool:
        """Whether that event is still kept."""
        return number in self._events

    def after(self, number: int, limit: int) -> EventsAnswer:
        """Events with a greater number, the newest `limit` of them."""
        found = [event for event in self._events.values() if event.number > number][-limit:]
        return EventsAnswer(next(iter(self._events), 0), self.last, found)

    def _add(self, event: Event) -> None:
        self._events[event.number] = event
        self._by_subject[event.subject] += 1
        if len(self._events) > EVENTS_MAX:
            ((most, _),) = self._by_subject.most_common(1)
            self._by_subject -= Counter([most])  # which keeps no zero
            del self._events[next(number for number, each in self._events.items() if each.subject == most)]

    def _repeated(self, code: Code, subject: str, words: str, now: float) -> Event | None:
        """The event that this one repeats, with its count raised; None if it is a new one."""
        former = self._last.get(_key(code, subject))
        if former is None or former.code != code.code or not 0 <= now - former.time < MERGE_SECONDS:
            return None
        if former.words != words and not code.floods:
            return None
        if former.number not in self._events:
            return None
        event = self._events[former.number] = replace(former, words=words, count=former.count + 1)
        return event

    def _remember(self, code: Code, event: Event) -> None:
        key = _key(code, event.subject)
        self._last.pop(key, None)
        self._last[key] = event
        if len(self._last) > MERGED_MAX:
            del self._last[next(iter(self._last))]


def bounded(events: Sequence[Event]) -> list[Event]:
    """Those of the events (oldest first) that a journal would keep."""
    if len(events) <= EVENTS_MAX:
        return list(events)
    journal = Journal()
    journal.restore(events)
    return journal.after(0, EVENTS_MAX).events


def _key(code: Code, subject: str) -> tuple[str, str]:
    """Under what the last event is remembered: the subject, and only for codes that flood the code as well. So down, up
    and down again are three events, though the first and the last are alike."""
    return (code.code if code.floods else "", subject)
