"""The journal: a bounded row of events, oldest dropped first. What repeats within a minute is counted, not repeated."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
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
        self._events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._number = 0
        self.counts = Counter[str]()
        """Events by code, since the start, each repetition counted."""
        self._last: dict[tuple[str, str], Event] = {}
        """The last event of each subject, and of each code that floods."""
        self._listeners: list[Callable[[Event], None]] = []

    @property
    def last(self) -> int:
        """Number of the newest event; 0 before the first."""
        return self._number

    def listen(self, call: Callable[[Event], None]) -> None:
        """Call for each event from now on, also for one whose count has risen (with the number that it had)."""
        self._listeners.append(call)

    def note(self, code: Code, subject: str, words: str, now: float, *, remedy: str = "") -> None:
        """Something happened. `remedy`: instead of the code's own."""
        subject, words = printable(subject)[:WORDS_MAX], printable(words)[:WORDS_MAX]
        event = self._repeated(code, subject, words, now)
        if event is None:
            self._number += 1
            event = Event(self._number, now, code.code, code.severity, subject, words, remedy or code.remedy, 1)
            self._events.append(event)
        self.counts[code.code] += 1
        self._remember(code, event)
        for call in self._listeners:
            call(event)

    def restore(self, events: Iterable[Event]) -> None:
        """Events of earlier runs, oldest first; a number may be missing. Before the first `note`."""
        assert not self._number
        self._events.extend(events)
        self._number = self._events[-1].number if self._events else 0

    def after(self, number: int, limit: int) -> EventsAnswer:
        """Events with a greater number, the newest `limit` of them."""
        found = [event for event in self._events if event.number > number][-limit:]
        return EventsAnswer(self._events[0].number if self._events else 0, self._number, found)

    def _repeated(self, code: Code, subject: str, words: str, now: float) -> Event | None:
        """The event that this one repeats, with its count raised; None if it is a new one."""
        former = self._last.get(_key(code, subject))
        if former is None or former.code != code.code or not 0 <= now - former.time < MERGE_SECONDS:
            return None
        if former.words != words and not code.floods:
            return None
        behind = self._number - former.number  # of this run none is missing
        if behind >= len(self._events):
            return None
        event = replace(former, words=words, count=former.count + 1)
        self._events[-1 - behind] = event
        return event

    def _remember(self, code: Code, event: Event) -> None:
        key = _key(code, event.subject)
        self._last.pop(key, None)
        self._last[key] = event
        if len(self._last) > MERGED_MAX:
            del self._last[next(iter(self._last))]


def _key(code: Code, subject: str) -> tuple[str, str]:
    """Down, up and down again are three events, though the first and the last are alike."""
    return (code.code if code.floods else "", subject)
