"""Feeds the watch with a snapshot once a second, and every ten seconds gives the history's keeper what has changed."""

import asyncio
import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from proxy.config.loading import LARGEST_FILE
from proxy.config.model import SiteConfig
from proxy.files import read
from proxy.history.file import HistoryFault, Kept
from proxy.history.keeper import Batch, Keeper
from proxy.net.survey import outline
from proxy.net.threads import started_thread
from proxy.observe import codes
from proxy.observe.answers import Event, Severity
from proxy.observe.codes import Code, code_named
from proxy.observe.history import History
from proxy.observe.journal import EVENTS_MAX, Journal
from proxy.observe.steps import Key, Row, begins
from proxy.observe.watch import Watch
from proxy.text import introduced

if TYPE_CHECKING:
    from proxy.net.site import Site

log = logging.getLogger(__name__)

Known = tuple[Code, str, str]
"""What is known of this host: code, words, remedy."""
FLUSH_SECONDS = 10.0
LATE_SECONDS = 2 * FLUSH_SECONDS
"""After so many seconds, a disk that has not taken what it was given counts as one that does not answer."""
OPEN_SECONDS = 5.0
"""Seconds that the start waits for a disk to give its history; after that, history is kept in memory."""
CLOSE_SECONDS = 3.0
"""Seconds that the end waits for the disk, twice: for what is being written, and for the rest."""
_LEVELS = {Severity.INFO: logging.INFO, Severity.WARNING: logging.WARNING, Severity.ERROR: logging.ERROR}
_FILE = "file"
"""The fact that says which configuration the last run had."""
_RUN = "run"
"""The fact that says whether the last run came to its end; written at once, and at the end."""
_GOES_ON, _ENDED = "goes on", "ended"


class Watching:
    """Feeds the watch of one site, and keeps its history. Loop thread.

    `start`, then `tick` once a second, `drains`, then `stop`.
    """

    def __init__(self, site: "Site", keeper: Keeper | None) -> None:
        """`keeper`: None keeps history in memory only."""
        self.ticked: list[Callable[[], None]] = []
        """Called once a second, when the watch has been fed."""
        self.judge: Callable[[SiteConfig], list[Known]] = lambda config: []
        """What of this host bodes ill for a site that runs by such a file."""
        self._judged: list[Known] = []
        self._site = site
        self._keeper = keeper
        self._waiting = started_thread("history-end")  # a thread that waits for the keeper, at the end
        self._ahead: deque[tuple[Key, Row]] = deque()  # steps in the file that lie ahead of the clock
        self._events: dict[int, Event] = {}  # not given to the keeper yet, by number
        self._facts: dict[str, str] = {}  # likewise
        self._flushed = time.monotonic() - FLUSH_SECONDS
        """When the keeper was last given something; at first so long ago that the first second gives it something."""
        self.journal = Journal()
        self.watch = Watch(self.journal, History(time.monotonic()), outline(site))
        if keeper is None:
            self.watch.history.problem = "no file was given"

    async def start(self) -> None:
        """Take up the history of earlier runs, if its disk answers, and note that the site has started."""
        kept = await self._open()
        for key, row in kept.steps:
            self.watch.history.book.restore(key, row)
        self._ahead.extend(kept.ahead)
        self.journal.restore(kept.events)
        self.journal.listen(self._heard)
        now, note = time.time(), self.journal.note
        note(codes.STARTED, "site", f"the site {self._site.config.site.name} has started", now)
        self._note_end(kept, now)
        self._note_file(kept, now)
        if shrunk := self._site.worker.store.shrunk:
            note(codes.STORE_SHRUNK, "store", shrunk, now)
        self.note_host()
        if kept.set_aside is not None:
            words = f"the history cannot be used ({kept.reason}) and is now {kept.set_aside}"
            note(codes.HISTORY_SET_ASIDE, "history", words, now)

    def note_host(self) -> None:
        """The site runs by another file than before: note what of this host bodes ill, unless it did before."""
        before, self._judged = self._judged, self.judge(self._site.config)
        for code, words, remedy in self._judged:
            if (code, words, remedy) not in before:
                self.journal.note(code, "site", words, time.time(), remedy=remedy)

    def tick(self) -> None:
        """One more second has passed. A defect in one step is logged, and keeps neither the other steps nor the next
        second from being done."""
        now = time.time()
        steps: tuple[Callable[[float], None], ...] = self._note_kept, self._note, self._flush_when_due
        own: list[Callable[[], None]] = [partial(step, now) for step in steps]
        for call in own + self.ticked:
            try:
                call()
            except Exception:
                log.exception("a defect: something missed a second")

    def _note(self, now: float) -> None:
        while self._ahead and begins(self._ahead[0][0]) <= now:  # the clock was behind when the site started
            self.watch.history.book.restore(*self._ahead.popleft())
        self.watch.note(outline(self._site), now, time.monotonic())

    def _note_kept(self, now: float) -> None:
        """See whether the disk has taken what it was given; if not, the history's problem says so."""
        if self._keeper is not None:
            self.watch.history.problem = self._keeper.problem or self._silence(self._keeper)

    def _silence(self, keeper: Keeper) -> str:
        """What is wrong, in words, if the disk neither takes what it was given nor refuses it; else empty."""
        late = not keeper.idle and time.monotonic() - self._flushed >= LATE_SECONDS
        return _silent(keeper) if late else ""

    def _flush_when_due(self, now: float) -> None:
        if time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self._flush(now)

    def drains(self) -> None:
        """Note that the site drains: it may have ended before another second has passed."""
        self.journal.note(codes.DRAINING, "site", "the site drains", time.time())

    async def stop(self) -> None:
        """Write what is left, and that this was the end."""
        self._facts[_RUN] = _ENDED
        if self._keeper is not None:
            await self._write_rest(self._keeper)
        self._waiting.shutdown(wait=False)

    async def _write_rest(self, keeper: Keeper) -> None:
        wait = partial(asyncio.get_running_loop().run_in_executor, self._waiting)
        await wait(keeper.rest, CLOSE_SECONDS)
        self._flush(time.time())
        if not await wait(keeper.close, CLOSE_SECONDS):
            log.warning("the disk of %s does not answer: the last seconds of history are lost", keeper.path)

    async def _open(self) -> Kept:
        if self._keeper is None:
            return Kept()
        name = self._site.config.site.name
        try:
            kept = await asyncio.wait_for(asyncio.wrap_future(self._keeper.open(time.time(), name)), OPEN_SECONDS)
        except (HistoryFault, TimeoutError) as error:
            return self._without(str(error) or _silent(self._keeper))
        if kept.owner == name:
            return kept
        problem = f"{self._keeper.path} is that of site {kept.owner}; name a file of its own as status.history"
        await asyncio.get_running_loop().run_in_executor(self._waiting, self._keeper.close, CLOSE_SECONDS)
        return self._without(problem)

    def _without(self, problem: str) -> Kept:
        """Go on in memory only."""
        self._keeper = None
        self.watch.history.problem = f"{problem}; it is tried again when the site starts anew"
        return Kept()

    def _note_end(self, kept: Kept, now: float) -> None:
        """Note whether the last run has not come to its end."""
        if kept.facts.get(_RUN, _ENDED) != _ENDED:
            words = "the last run did not end in order: it was killed, it crashed, or the host went down"
            self.journal.note(codes.NOT_ENDED, "site", words, now)
        if self._keeper is not None:  # at once, for it may be killed in its first second
            self._keeper.write(Batch({}, [], {_RUN: _GOES_ON}, now))

    def _note_file(self, kept: Kept, now: float) -> None:
        """Note whether the site's file has changed since the last start."""
        try:
            content = hashlib.sha256(read(self._site.config.source, LARGEST_FILE)).hexdigest()
        except OSError:
            return
        if kept.facts.get(_FILE, content) != content:
            words = f"{self._site.config.source} is not what the site's file was at the last start"
            self.journal.note(codes.CONFIGURATION_CHANGED, "site", words, now)
        self._facts[_FILE] = content

    def _heard(self, event: Event) -> None:
        self._events[event.number] = event
        if len(self._events) > 2 * EVENTS_MAX:  # a disk that never answers takes none of them
            self._events = {number: each for number, each in self._events.items() if self.journal.holds(number)}
        if event.count == 1 and code_named(event.code).logged:
            level = _LEVELS[event.severity]
            words = f"{event.words.rstrip('.')}; {event.remedy}" if event.remedy else event.words
            log.log(level, "%s, %s", event.code, introduced(event.subject, words))

    def _flush(self, now: float) -> None:
        """Give the keeper what has changed; nothing while it still writes, so that only the newest state waits."""
        if self._keeper is None or not self._keeper.idle:
            return
        events, self._events = list(self._events.values()), {}
        facts, self._facts = self._facts, {}
        self._keeper.write(Batch(self.watch.history.book.take_changed(), events, facts, now))
        self._flushed = time.monotonic()


def _silent(keeper: Keeper) -> str:
    return f"the disk of {keeper.path} does not answer"
