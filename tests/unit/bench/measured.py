"""What is measured of generated data."""

import zlib

from bench.datasets import Dataset


def compressibility(volume: Dataset) -> float:
    """What zlib level 6 saves on the volume, in percent."""
    compressor = zlib.compressobj(6)
    compressed = sum(len(compressor.compress(buffer)) for buffer in volume) + len(compressor.flush())
    return 100 * (1 - compressed / volume.size)
