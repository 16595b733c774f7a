"""Processes that start at once: forked from one that has read all the modules already."""

import multiprocessing
from multiprocessing import forkserver

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["tests.integration.bed.serving", "tests.conformance.child"])


def make_ready() -> None:
    """Start that one, in the network namespace of this thread; once is enough."""
    forkserver.ensure_running()
