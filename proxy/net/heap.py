"""What the C library does with memory that was freed: keep it, since batches of the same size are made all the time.

glibc gives the top of its heap back to the kernel as soon as twice the longest block is free there. A stream whose
batches have all the same length then gives back and fetches the same pages again and again: 50 to 140 page faults for
each MiB of a new iSCSI volume, a tenth of the site's CPU and more.
"""

import ctypes
from collections.abc import Callable

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_KEPT = 32 << 20
"""Bytes at the top of the heap that may stay free."""
_OWN = 1280 << 10
"""Blocks of so many bytes are the kernel's affair alone, as those of 128 KiB are by default: longer than any that comes
and goes with batches, a frame of 1 MiB included, and shorter than the windows of contexts of compression. These come
and go with streams; from the heap, dozens of them left holes of 270 MiB that stayed for good."""


def keep_freed_memory() -> None:
    """From now on. A C library that knows no such thing goes without."""
    mallopt: Callable[[int, int], int] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _OWN)
