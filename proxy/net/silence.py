"""Somebody may stop within something that is kept until it is whole: how long the rest is waited for."""

import asyncio
from collections.abc import Callable


class Silence:
    """Loop thread. Its owner calls `watch` whenever something may have begun to wait."""

    def __init__(
        self,
        held: Callable[[], int],
        came: Callable[[], int],
        give_up: Callable[[], None],
        *,
        seconds: Callable[[], float],
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """`held`: bytes that wait, `came`: something that changes with each byte that comes.

        `give_up` is called after so many `seconds` without one, unless it is `interrupted`: somebody else's silence.
        """
        self._held = held
        self._came = came
        self._give_up = give_up
        self._seconds = seconds
        self._interrupted = interrupted
        self._loop = asyncio.get_running_loop()
        self._seen = 0
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """If something waits, it is watched from now on, or since it was before."""
        if self._timer is None and self._held():
            self._wait(looks=2)

    def stop(self) -> None:
        """Nothing can come for a while, or ever."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, looks: int) -> None:
        """In two halves: after the first, what came while the loop was busy is read before the second ends."""
        self._seen = self._came()
        self._timer = self._loop.call_later(self._seconds() / 2, self._look, looks - 1)

    def _look(self, looks: int) -> None:
        self._timer = None
        if not self._held():
            return
        if self._came() != self._seen or self._interrupted():
            self._wait(looks=2)
        elif looks:
            self._wait(looks)
        else:
            self._give_up()
