"""Has streams take turns: while many sources have more than the site can take, few are read in a round, each for long.

The event loop reads every socket that has something, so a small question would wait for all of them. Short turns would
help as well, but then a stream's data and state would have left the processor's cache before its next turn.
"""

import asyncio
from collections import deque
from collections.abc import Callable

TURN = 2 << 20
"""Bytes of a turn: three to six milliseconds of work, and what an array's socket holds (`sockets.make_room`)."""
AT_ONCE = 4
"""Streams that have their turn in one round of the loop; some of them may have nothing more to read."""


class Turns:
    """The turns of one site's streams. Loop thread.

    Nobody waits until, in one round, several readers that have more to read have together read `TURN` bytes. From then
    on, as long as anybody waits, turns are given out.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._read = 0  # bytes in this round, by readers that have more, while nobody waits
        self._first: object = None  # the first of these readers
        self._alone = True  # it is the only one
        self._left: dict[object, int] = {}  # bytes left of the turns that were given in this round
        self._waiting: deque[tuple[object, Callable[[], None]]] = deque()
        self._round: asyncio.Handle | None = None

    def spend(self, reader: object, n: int, *, more: bool) -> bool:
        """The reader has read `n` bytes, and has `more` to read. True if its turn is over: it has to `wait` then."""
        if reader in self._left:
            self._left[reader] -= n
            return bool(self._waiting) and not (more and self._left[reader] > 0)  # no more to read ends the turn early
        if not more:
            return False
        if self._waiting:
            return True
        self._alone = self._alone and self._first in (None, reader)
        self._first = reader
        self._read += n
        self._await_round()
        return self._read >= TURN and not self._alone

    def wait(self, reader: object, go_on: Callable[[], None]) -> None:
        """Call `go_on` when it is the reader's turn again."""
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
            self._await_round()  # now, for one of the calls below may raise
        for _ in range(min(AT_ONCE, len(self._waiting))):
            reader, go_on = self._waiting.popleft()
            self._left[reader] = TURN
            go_on()
