"""What batches behind one that has to ask lack, asked for together with it.

Where a store lacks a chunk in a hundred that the other side believes it to hold, every few batches lack one, and each
would have the stream stand for a round trip. Those that have come meanwhile are looked at: so one does for many.
"""

from collections.abc import Collection

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import FINGERPRINT_BYTES
from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import REFERENCE, RUN, Token

NAMES_MAX = 64
"""A sender answers no more of one stream in a round trip (PROTOCOL.md, "Frames")."""

BYTES_MAX = 4 << 20
"""What was filled ahead is kept until the last of those batches is decoded: a name may be asked for once a batch, and
the store may refuse or lose the chunk."""

ALL_MAX = 64 << 20
"""The same for all streams of a tunnel. A stream that has decoded the batch that asked lets others ask, and keeps what
is for those behind it, perhaps for long: its array need not read, and the next batch may wait for its turn to ask."""


class AheadMemory:
    """Of one tunnel: what is asked for ahead on all its streams. Loop thread."""

    def __init__(self) -> None:
        self._used = 0

    def take(self, size: int) -> bool:
        """False, and nothing is done, if that is too much."""
        if self._used + size > ALL_MAX:
            return False
        self._used += size
        return True

    def give(self, size: int) -> None:
        """So much is kept no longer."""
        self._used -= size


class Ahead:
    """Of one stream's incoming direction. Loop thread."""

    def __init__(self, memory: AheadMemory) -> None:
        """`memory`: what it shares with others."""
        self._memory = memory
        self._left = 0  # batches, the present one included, until none is left that was asked for
        self._expected: set[bytes] = set()  # and not filled yet
        self._filled: dict[bytes, bytes] = {}
        self._names = 0
        self._most = 0  # bytes that an honest peer may fill
        self._bytes = 0

    def expect(self, lacking: Collection[Token], plain: int, behind: int) -> bool:
        """Have that asked for; False if it might be too much.

        `lacking`: what tokens name of a batch that delivers so many bytes, so many batches `behind` the present one.
        """
        most = _most(lacking, plain)
        if self._names + len(lacking) > NAMES_MAX or self._most + most > BYTES_MAX or not self._memory.take(most):
            return False
        if lacking:
            self._left = max(self._left, behind + 1)
            self._expected.update(token[3] for token in lacking)
            self._names += len(lacking)
            self._most += most
        return True

    def fill(self, name: bytes, data: bytes) -> bool:
        """Keep what has come, if it was asked for here. Raises BatchError if these are more bytes than may come."""
        if name not in self._expected:
            return False
        self._expected.discard(name)
        self._bytes += len(data)
        if self._bytes > self._most:
            raise BatchError("what was filled for batches to come is longer than these")
        self._filled[name] = data
        return True

    def get(self, name: bytes) -> bytes | None:
        """What was filled by that name."""
        return self._filled.get(name)

    def passed(self) -> None:
        """The present batch is decoded."""
        if self._left:
            self._left -= 1
            if not self._left:
                self.clear()

    def clear(self) -> None:
        """Keep nothing."""
        self._memory.give(self._most)
        self._expected.clear()
        self._filled.clear()
        self._left = self._names = self._most = self._bytes = 0


def _most(lacking: Collection[Token], plain: int) -> int:
    """Bytes that may come for that: whole chunks that are referred to are no longer than what the batch delivers."""
    opcodes = [token[0] for token in lacking]
    references, runs = opcodes.count(REFERENCE), opcodes.count(RUN)
    lists = sum(token[1] * FINGERPRINT_BYTES for token in lacking if token[0] == RUN)
    slices = len(opcodes) - references - runs
    return min(references * LARGEST_CHUNK, plain) + slices * LARGEST_CHUNK + lists
