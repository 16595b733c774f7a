"""A long text of the far target that is kept until it is whole: not for long, if the target stops within it."""

import asyncio
from collections.abc import Callable

LONGEST = 1.0
"""Seconds without a byte of it after which what has come goes on as it is."""


class Gathering:
    """Loop thread. One a relay, which calls `watch` when it has decoded something."""

    def __init__(
        self, gathered: Callable[[], int], interrupted: Callable[[], bool], let_go: Callable[[], None]
    ) -> None:
        """`gathered`: bytes that wait; `interrupted`: it is not the target that is waited for; `let_go` delivers."""
        self._gathered = gathered
        self._interrupted = interrupted
        self._let_go = let_go
        self._loop = asyncio.get_running_loop()
        self._seen = 0
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Something has been decoded: does a text begin to wait?"""
        if self._timer is None and self._gathered():
            self._wait(looks=2)

    def close(self) -> None:
        """The stream is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, looks: int) -> None:
        """In two halves: after the first, what came while the loop was busy is read before the second ends."""
        self._seen = self._gathered()
        self._timer = self._loop.call_later(LONGEST / 2, self._look, looks - 1)

    def _look(self, looks: int) -> None:
        self._timer = None
        gathered = self._gathered()
        if not gathered:
            return
        if gathered != self._seen or self._interrupted():
            self._wait(looks=2)
        elif looks:
            self._wait(looks)
        else:
            self._let_go()
