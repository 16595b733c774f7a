"""Runs: chunks that our store holds one after another, named by one token because the peer's store holds them so, too.

Both stores are filled by the same streams, so what lies one after another here mostly does so there. Where it does not,
a run costs a round trip, which is dearer than a thousand references. So runs are sent as TCP sends segments: a few at
first, more as they are found, and none for a while after one that was not found.
"""

from collections.abc import Callable, Mapping

from dedupstore.store import ChunkStore, Place
from proxy.reduction.holdings import Holdings

_MOST_AT_FIRST = 16
_PAUSE = 30.0
"""Seconds without runs after a miss: if the next one is always missed, too, a line of 300 ms loses a hundredth of time.
"""


class Order:
    """How far the peer's store is trusted to hold chunks in the order in which ours does. Loop thread, one a peer."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` tells seconds, monotonic."""
        self._clock = clock
        self._most = _MOST_AT_FIRST
        self._underway = 0
        self._paused_until = float("-inf")

    @property
    def room(self) -> int:
        """How many more runs may be on their way."""
        return self._most - self._underway if self._clock() >= self._paused_until else 0

    def send(self, count: int) -> None:
        """`count` more runs are on their way."""
        self._underway += count

    def end(self, count: int, *, found: bool) -> None:
        """`count` runs are no longer on their way; `found`: the peer's store held all of them."""
        self._underway -= count
        if found:
            self._most += count

    def miss(self) -> None:
        """The peer does not know what a run stands for."""
        self._most = 1
        self._paused_until = self._clock() + _PAUSE


class Runs:
    """The runs of one stream's outgoing direction that the peer has not consumed, and their lists. Loop thread."""

    def __init__(self, order: Order | None) -> None:
        """`order`: of the peer's store; None if the peer knows no runs."""
        self._order = order
        self._lists: dict[bytes, bytes] = {}

    @property
    def room(self) -> int:
        """How many more runs may be on their way."""
        return self._order.room if self._order is not None else 0

    def send(self, lists: Mapping[bytes, bytes]) -> None:
        """The runs of one batch are on their way. `lists`: by a run's name, the fingerprints of its chunks."""
        if self._order is not None and lists:
            self._lists.update(lists)
            self._order.send(len(lists))

    def end(self, lists: Mapping[bytes, bytes], *, found: bool) -> None:
        """The batch with these runs is consumed, or given up; `found`: the peer had all that it refers to."""
        if self._order is not None and lists:
            for name, listed in lists.items():
                if self._lists.get(name) is listed:  # otherwise a later batch has brought it again
                    del self._lists[name]
            self._order.end(len(lists), found=found)

    def listed(self, name: bytes) -> bytes | None:
        """The fingerprints of the run's chunks; None if no run of that name is on its way."""
        return self._lists.get(name)

    def miss(self, name: bytes) -> None:
        """The peer has asked for that name, which may be a run's or a chunk's."""
        if self._order is not None and name in self._lists:
            self._order.miss()


def stored_behind(store: ChunkStore, holdings: Holdings, place: Place, most: int) -> list[bytes]:
    """Names of up to `most` chunks that the store holds behind that place, as far as this is known without I/O and the
    chunks were exchanged with the peer (`Holdings.shares`)."""
    names: list[bytes] = []
    while True:
        within = store.behind(place, most - len(names))
        if not holdings.shares_all(place, len(within)):
            return names
        names += within
        if len(names) == most:
            return names
        following = store.following((place[0], place[1] + len(within)))
        if following is None or not holdings.shares(following[1]):
            return names
        names.append(following[0])
        place = following[1]
