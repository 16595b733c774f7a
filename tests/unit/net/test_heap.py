"""Memory that comes and goes in blocks of one size is not fetched from the kernel each time."""

import ctypes
import subprocess
import sys

import pytest

BLOCKS = """
import resource
from proxy.net.heap import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def blocks():
    for _ in range(100):
        kept = [b"x" * (256 << 10) for _ in range(8)]

keep_freed_memory()
blocks()
before = faults()
blocks()
print(faults() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library has no mallopt")
def test_freed_blocks_are_used_again() -> None:
    told = subprocess.run([sys.executable, "-c", BLOCKS], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 1000  # otherwise each block's 64 pages, 800 times
