"""Finds where chunks end: borders depend on content (FastCDC), so that they move with the data, not with offsets."""

from pyfastcdc import FastCDC

from dedupstore.store import Buffer

LARGEST_CHUNK = 256 << 10
"""No chunk is longer than this, whatever is configured: peers and stores rely on it."""

MINIMUM = 4 << 10
AVERAGE = 16 << 10
MAXIMUM = 64 << 10


class Chunker:
    """Cuts a sequence of bytes at borders that depend on its content alone.

    `average` is what random data yields, to within a tenth if it is at least three times `minimum`. (FastCDC itself
    counts its average from the minimum onward, so it is given the difference.) A chunk may be one byte shorter than
    an odd `minimum`; the last one of a sequence may have any length. All three are in bytes.

    Keeps no state between calls; one object serves any number of sequences on one thread.
    """

    def __init__(self, minimum: int = MINIMUM, average: int = AVERAGE, maximum: int = MAXIMUM) -> None:
        """Raise ValueError, which names the remedy, for sizes that do not fit together."""
        _check_sizes(minimum, average, maximum)
        self.minimum = minimum
        self.average = average
        self.maximum = maximum
        self._fastcdc = FastCDC(average - minimum, min_size=minimum, max_size=maximum, normalized_chunking=1)

    def cut(self, view: Buffer, final: bool = False) -> list[int]:
        """Lengths of the complete chunks at the start of `view`, which itself starts at a border.

        What is left over is no chunk yet: pass it again with more behind it, or with `final` when nothing follows.
        How the sequence was cut into views makes no difference to the borders. A left-over piece is searched again
        each time, so callers that receive single bytes should wait until a few KiB have come.
        """
        lengths = [chunk.length for chunk in self._fastcdc.cut_buf(view)]
        if lengths and not final and lengths[-1] != self.maximum:
            lengths.pop()
        return lengths


def _check_sizes(minimum: int, average: int, maximum: int) -> None:
    if minimum < 256:
        raise ValueError(f"minimum chunk size {minimum} is too small; use at least 256 bytes")
    if average < 2 * minimum:
        raise ValueError(f"average chunk size {average} is too small; use at least twice the minimum, {2 * minimum}")
    least = max(average, 1024)
    if not least <= maximum <= LARGEST_CHUNK:
        raise ValueError(f"maximum chunk size {maximum} is out of range; use {least} to {LARGEST_CHUNK}")
