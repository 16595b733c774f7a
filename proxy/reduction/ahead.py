"""What later batches lack, asked for together with what the present one lacks.

Where a store lacks one chunk in a hundred that the other side believes it to hold, every few batches lack one, and each
would have the stream stand for a round trip. So when a batch has to ask, those that have come behind it are looked at,
and one round trip does for many.
"""

from collections.abc import Collection

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import FINGERPRINT_BYTES
from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import REFERENCE, RUN, Token

NAMES_MAX = 64
"""A sender answers no more of one stream in a round trip (PROTOCOL.md, "Frames of a stream")."""

BYTES_MAX = 4 << 20
"""Bytes filled ahead that a stream keeps, until the last of these batches is decoded: each batch may ask for a name
once, and the store may refuse or lose the chunk."""

ALL_MAX = 64 << 20
"""The same of all streams of a tunnel together. (They ask in turns, 16 at once, but one that has had its turn may keep
what is for later batches for long: its array need not read, and the next batch may have to wait for another turn.)"""


class AheadMemory:
    """Of one tunnel: the account of what is asked for ahead on all its streams. Loop thread."""

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
        self._left = 0  # batches to be decoded, the present one included, until what was filled is not needed any more
        self._expected: set[bytes] = set()  # asked for and not filled yet
        self._filled: dict[bytes, bytes] = {}
        self._names = 0  # asked for
        self._most = 0  # bytes that an honest peer may fill for these
        self._bytes = 0  # filled

    def expect(self, lacking: Collection[Token], plain: int, behind: int) -> bool:
        """Reserve memory for what is going to be asked for; False, and nothing is done, if that might be too much.

        `lacking`: tokens of the batch that is so many `behind` the present one, and delivers `plain` bytes.
        """
        most = _fill_bound(lacking, plain)
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


def _fill_bound(lacking: Collection[Token], plain: int) -> int:
    """Bytes that may be filled: chunks that a batch delivers whole are together no longer than what it delivers."""
    opcodes = [token[0] for token in lacking]
    references, runs = opcodes.count(REFERENCE), opcodes.count(RUN)
    lists = sum(token[1] * FINGERPRINT_BYTES for token in lacking if token[0] == RUN)
    slices = len(opcodes) - references - runs
    return min(references * LARGEST_CHUNK, plain) + slices * LARGEST_CHUNK + lists
