"""Chunks and runs that later batches lack, asked for together with those that the present batch lacks.

If our store lacks one in a hundred of the chunks that the peer believes it to hold, every few batches lack one, and
each of these would stop the stream for a round trip. So when a batch has to ask, the batches that have come behind it
are searched as well, and one round trip serves many.
"""

from collections.abc import Collection

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import FINGERPRINT_BYTES
from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import REFERENCE, RUN, Token

NAMES_MAX = 64
"""Names asked for ahead, at most: the peer answers no more on one stream in a round trip, since no more of its FILLs
may be unacknowledged (PROTOCOL.md, "Frames of a stream")."""

BYTES_MAX = 4 << 20
"""Bytes filled ahead that a stream keeps, at most. They stay until the last of these batches is decoded: each batch may
ask for a name only once, and the store may refuse or lose the chunk."""

ALL_MAX = 64 << 20
"""The same for all streams of a tunnel together. (Streams ask in turns, 16 at once, but one that has had its turn may
keep fills for later batches for long: its array need not read, and its next batch may have to wait for another turn.)
"""


class AheadMemory:
    """One tunnel's account of the bytes that are asked for ahead on all its streams. Loop thread."""

    def __init__(self) -> None:
        self._used = 0

    def take(self, size: int) -> bool:
        """Reserve `size` bytes; returns False, and reserves nothing, if that would exceed ALL_MAX."""
        if self._used + size > ALL_MAX:
            return False
        self._used += size
        return True

    def give(self, size: int) -> None:
        """Release `size` bytes."""
        self._used -= size


class Ahead:
    """What one stream's incoming direction has asked for ahead, and what was filled of it. Loop thread."""

    def __init__(self, memory: AheadMemory) -> None:
        """`memory`: the account that all streams of the tunnel share."""
        self._memory = memory
        self._left = 0  # batches to be decoded, the present one included, until the fills are not needed any more
        self._expected: set[bytes] = set()  # names asked for and not filled yet
        self._filled: dict[bytes, bytes] = {}
        self._names = 0  # how many were asked for
        self._most = 0  # bytes that an honest peer may fill for these
        self._bytes = 0  # bytes that were filled

    def expect(self, lacking: Collection[Token], plain: int, behind: int) -> bool:
        """Reserve memory for names that will be asked for; returns False, and does nothing, if it might be too much.

        `lacking`: tokens whose chunk or list is lacking, of a batch that delivers `plain` bytes. `behind`: how many
        batches that one is behind the present one.
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
        """Keep a FILL; returns False if it was not asked for ahead. Raises BatchError beyond what was reserved."""
        if name not in self._expected:
            return False
        self._expected.discard(name)
        self._bytes += len(data)
        if self._bytes > self._most:
            raise BatchError("what was filled for batches to come is longer than these")
        self._filled[name] = data
        return True

    def get(self, name: bytes) -> bytes | None:
        """The data that was filled for that name."""
        return self._filled.get(name)

    def passed(self) -> None:
        """The present batch is decoded."""
        if self._left:
            self._left -= 1
            if not self._left:
                self.clear()

    def clear(self) -> None:
        """Drop all fills, expect none, and release the memory."""
        self._memory.give(self._most)
        self._expected.clear()
        self._filled.clear()
        self._left = self._names = self._most = self._bytes = 0


def _fill_bound(lacking: Collection[Token], plain: int) -> int:
    """The most bytes that may be filled for these: chunks in REFERENCEs are together no longer than `plain`."""
    opcodes = [token[0] for token in lacking]
    references, runs = opcodes.count(REFERENCE), opcodes.count(RUN)
    lists = sum(token[1] * FINGERPRINT_BYTES for token in lacking if token[0] == RUN)
    slices = len(opcodes) - references - runs
    return min(references * LARGEST_CHUNK, plain) + slices * LARGEST_CHUNK + lists
