"""Decides whether a tunnel's streams leave compression out, because the line carries literals faster without it.

Compression holds up only a loop that has no time left and spends much of it on compressing. Then it is left out on
trial, since the line may have no room for so many more bytes: unless literals go faster, they are compressed again, and
the next trial waits twice as long. After a trial that paid, they are compressed again as soon as

- the loop has time for it, since the line or the source may have become slower;
- compression would take little of the loop's time, since the data may have changed. It is enough that it would take
  little for this tunnel alone: then another tunnel of the loop keeps it busy;
- literals go slower than they did when they were compressed.

Where there is a cap nothing is left out: whoever sets one does not want the line full.
"""

from collections.abc import Callable

from proxy.reduction.load import CompressionLoad

BUSY = 0.85
"""Share of its time from which on the loop has none left."""
MUCH = 0.3
"""Share of the loop's busy time above which compression, of all tunnels, holds it up."""
LITTLE = 0.1
"""The same for the compression of one of several tunnels: with a smaller share it is not what holds that one up."""
_SURE = 1.0
"""Seconds for which the reason for a change has to hold; also the length of a trial."""
_TOLD = 0.25
"""Seconds of a trial after which it may be seen to go badly."""
_PAUSE = 0.25
"""Seconds without a batch that are a pause: nothing was held up meanwhile."""
_BADLY = 0.8
_WORTH = 1.05
"""Factors of the rate before the trial: below the first it ends early, below the second it has not paid."""
_REST = 10.0
_LONGEST_REST = 640.0
"""Seconds without a trial after one that did not pay: first, and after many in a row."""


class Sparing:
    """One tunnel's decision, for those of its streams whose data compresses and whose step is the fastest.

    `now` in seconds, monotonic. Rates are of these streams' literal bytes.
    """

    def __init__(self, capped: Callable[[], bool]) -> None:
        """`capped`: whether what the tunnel sends, or a part of it, is held to a rate."""
        self.active = False
        """Whether compression is left out."""
        self.changes = 0
        self.load = CompressionLoad()
        """The load of this tunnel alone."""
        self._capped = capped
        self._since: float | None = None  # when the reason for a change began to hold
        self._seen = float("-inf")  # when the last batch came
        self._bytes = 0
        self._counted = float("-inf")  # since when these are counted: a hold-up, a change, a trial's end or a look
        self._to_beat = 0.0  # the rate before compression was left out
        self._on_trial = False
        self._no_trial_before = float("-inf")
        self._rest = _REST

    def compressed(self, length: int, *, held_up: bool, now: float) -> None:
        """A batch was compressed. `held_up`: the loop has no time left, and spends much of it on compressing."""
        if self.active:
            return
        before, self._seen = self._seen, now
        if not held_up or now < self._no_trial_before or self._capped():
            self._since = None
            return
        if self._since is None or now - before > _PAUSE:
            self._since = now
            self._count_anew(now)
        self._bytes += length
        if now - self._since >= _SURE:
            self._to_beat = self._bytes / (now - self._counted)
            self._change(active=True, now=now)

    def spared(self, length: int, *, needless: bool, now: float) -> None:
        """A batch was sent as it is. `needless`: the loop has time to compress all that is spared, or needs little."""
        before, self._seen = self._seen, now
        paused = now - before > _PAUSE
        self._bytes += length
        if self._on_trial:
            self._judge(now, spoilt=paused)
        elif self._capped() or self._has_become_slower(now, paused=paused):
            self._change(active=False, now=now)
        elif not needless:
            self._since = None
        else:
            self._since = before if self._since is None else self._since  # a pause was time as well
            if now - self._since >= _SURE:
                self._change(active=False, now=now)

    def _judge(self, now: float, *, spoilt: bool) -> None:
        """Judge the trial. `spoilt`: by a pause, so it tells nothing, and the next one need not wait longer."""
        passed = now - self._counted
        if passed < _TOLD:
            return
        if spoilt or self._bytes < passed * self._to_beat * (_WORTH if passed >= _SURE else _BADLY):
            self._no_trial_before = now + self._rest
            self._rest = self._rest if spoilt else min(2 * self._rest, _LONGEST_REST)
            self._change(active=False, now=now)
        elif passed >= _SURE:
            self._rest = _REST
            self._on_trial = False
            self._count_anew(now)

    def _has_become_slower(self, now: float, *, paused: bool) -> bool:
        """True if bytes go slower than when they were compressed: the line may have slowed, though the loop is busy."""
        passed = now - self._counted
        if not paused and passed < _SURE:
            return False
        slower = not paused and self._bytes * _WORTH < passed * self._to_beat
        self._count_anew(now)
        return slower

    def _change(self, *, active: bool, now: float) -> None:
        self.active = active
        self.changes += 1
        self._on_trial = active
        self._since = None
        self._count_anew(now)

    def _count_anew(self, now: float) -> None:
        self._counted, self._bytes = now, 0
