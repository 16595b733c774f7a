"""What batches on their way refer to, and how much of it the peer has asked for."""

from collections import Counter
from collections.abc import Iterable


class Outstanding:
    """One stream's outgoing direction. Loop thread. Names are of chunks and of runs."""

    def __init__(self) -> None:
        self._referred: Counter[bytes] = Counter()  # batches not yet consumed that refer to it
        self._missed: Counter[bytes] = Counter()  # how many of those the peer has asked for it

    def send(self, names: set[bytes]) -> None:
        """A batch that refers to these is on its way."""
        if names:
            self._referred.update(names)

    def miss(self, name: bytes) -> bool:
        """The peer asks for it: False if it has done so as often as batches on their way refer to it."""
        if self._missed[name] >= self._referred[name]:
            return False
        self._missed[name] += 1
        return True

    def end(self, names: set[bytes]) -> set[bytes]:
        """A batch that refers to these was consumed; those among them that the peer had to ask for."""
        missed = self._missed.keys() & names if self._missed else set()
        uncount(self._referred, names)
        uncount(self._missed, missed)
        return missed


def uncount(counts: dict[bytes, int], names: Iterable[bytes]) -> None:
    """Take one from the count of each, and forget it at zero. (`del` of a Counter's is slow.)"""
    for name in names:
        if left := counts.pop(name) - 1:
            counts[name] = left
