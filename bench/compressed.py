"""What zstd alone makes of a volume in one piece, by one thread: what reduction is held against."""

from collections.abc import Iterable

import zstandard

LEVEL = 12
WINDOW_LOG = 27
"""As `zstd --long`."""


def compressed(volume: Iterable[bytes], level: int = LEVEL) -> int:
    """The volume's size after compression, in bytes; above level 3 as with `--long`."""
    long = level > 3
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, enable_ldm=long, window_log=WINDOW_LOG if long else 0
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return sum(len(compressor.compress(buffer)) for buffer in volume) + len(compressor.flush())
