"""Limits how long bytes are kept that wait for the rest of something: its sender may have stopped in the middle."""

import asyncio
from collections.abc import Callable


class Silence:
    """A timeout on the sender's silence. Its owner calls `watch` when bytes may have begun to wait. Loop thread."""

    def __init__(
        self,
        held: Callable[[], int],
        came: Callable[[], int],
        give_up: Callable[[], None],
        *,
        seconds: Callable[[], float],
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """`held`: how many bytes wait; `came`: a number that changes with each byte that comes.

        `give_up` is called after so many `seconds` without a byte, unless `interrupted` says that the sender is not to
        blame for that: then the time begins anew.
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
        """Watch from now on if bytes wait; if they are watched already, the time does not begin anew."""
        if self._timer is None and self._held():
            self._wait(looks=2)

    def stop(self) -> None:
        """Stop watching: nothing can come for a while, or ever."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, looks: int) -> None:
        """Wait half of the time: bytes that came while the loop was busy are read before the second half is over."""
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
