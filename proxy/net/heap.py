"""Has the C library keep memory that was freed, since batches of the same size are made all the time.

glibc gives the top of its heap back to the kernel as soon as twice the longest block that was freed is free there.
Where a stream's batches all have the same length, glibc gives back and fetches the same pages again and again: 50 to
140 page faults for each MiB of a new iSCSI volume, a tenth of the site's CPU and more.
"""

import ctypes
from collections.abc import Callable

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_KEPT = 32 << 20
"""Bytes at the top of the heap that may stay free."""
_OWN = 1280 << 10
"""Bytes from which on a block is mapped by itself, outside the heap (by default 128 KiB): longer than any block that
comes and goes with batches, a frame of 1 MiB included, and shorter than the windows of compression contexts. Windows
come and go with streams; taken from the heap, dozens of them left holes of 270 MiB that stayed for good."""


def keep_freed_memory() -> None:
    """Keep freed memory for the rest of the process's life. Does nothing where the C library has no mallopt(3)."""
    mallopt: Callable[[int, int], int] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_MMAP_THRESHOLD, _OWN)
