"""Processes that start at once: forked from one that has read all the modules already."""

import ctypes
import multiprocessing
import os
import signal
from multiprocessing import forkserver

from bench.bound import PR_SET_PDEATHSIG

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["tests.integration.bed.serving", "tests.conformance.child"])


def stand_alone() -> None:
    """In a forked process: end with the tests, even if they are killed, and have no descriptors but the standard ones.

    It ends with the process that it was forked from. That one ends when nobody has a certain pipe any more, which is
    among the descriptors that it gives to each process.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def make_ready() -> None:
    """Start that one, in the network namespace of this thread; once is enough."""
    forkserver.ensure_running()
