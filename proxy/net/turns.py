"""Streams take turns: while many sources have more than the site takes, few are read in a round, and these for long.

A loop reads each socket that has something for as long as it has something, so whoever asks something small waits for
all of them. Short turns would help that, but a stream's data and state have left the processor's cache when it comes
round again.
"""

import asyncio
from collections import deque
from collections.abc import Callable

TURN = 2 << 20
"""Bytes: three to six milliseconds of work, and what an array's socket holds (`sockets.make_room`)."""
AT_ONCE = 4
"""Streams that have their turn in one round of the loop; some of them may have nothing more."""


class Turns:
    """Of one site. Loop thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._read = 0  # in this round, while nobody waits
        self._first: object = None
        self._alone = True
        self._left: dict[object, int] = {}  # of the turns in this round
        self._waiting: deque[tuple[object, Callable[[], None]]] = deque()
        self._round: asyncio.Handle | None = None

    def spend(self, reader: object, n: int, *, more: bool) -> bool:
        """The reader has read so many bytes, and has `more`. True if its turn is over: it is to `wait` then."""
        if reader in self._left:
            self._left[reader] -= n
            return bool(self._waiting) and not (more and self._left[reader] > 0)
        if not more or self._waiting:
            return more
        self._alone = self._alone and self._first in (None, reader)
        self._first = reader
        self._read += n
        self._await_round()
        return self._read >= TURN and not self._alone

    def wait(self, reader: object, go_on: Callable[[], None]) -> None:
        """Call that when it is the reader's turn again."""
        self._left.pop(reader, None)
        self._waiting.append((reader, go_on))
        self._await_round()

    def _await_round(self) -> None:
        if self._round is None:
            self._round = self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._round = None
        self._read, self._first, self._alone = 0, None, True
        self._left.clear()
        if self._waiting:
            self._await_round()  # whatever becomes of those whose turn it is
        for _ in range(min(AT_ONCE, len(self._waiting))):
            reader, go_on = self._waiting.popleft()
            self._left[reader] = TURN
            go_on()
