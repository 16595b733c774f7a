"""Memory that comes and goes in blocks of one size is not fetched from the kernel each time; windows are given back."""

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

CONTEXTS = """
import random
from proxy.net.heap import keep_freed_memory
from proxy.reduction.contexts import ContextReader, ContextWriter
from proxy.reduction.windows import WINDOW_LOG_MIN, ContextMemory

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

keep_freed_memory()
before = resident()
literals, memory, contexts, others = random.Random(1).randbytes(500_000), ContextMemory(), [], []
for _ in range(40):
    contexts.append((ContextWriter(3, WINDOW_LOG_MIN), ContextReader(memory)))
    for _ in range(3):
        contexts[-1][1].decode(contexts[-1][0].encode(literals), len(literals))
    others.append(bytes(100_000))
taken = resident() - before
contexts.clear()
print(taken >> 20, resident() - before >> 20)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library has no mallopt")
def test_freed_blocks_are_used_again() -> None:
    told = subprocess.run([sys.executable, "-c", BLOCKS], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 1000  # otherwise each block's 64 pages, 800 times


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library has no mallopt")
def test_contexts_that_have_ended_leave_no_holes() -> None:
    """Those of dozens of streams, between which others have taken memory that they keep."""
    told = subprocess.run([sys.executable, "-c", CONTEXTS], capture_output=True, text=True, check=True)
    taken, left = map(int, told.stdout.split())
    assert taken > 100
    assert left < 20
