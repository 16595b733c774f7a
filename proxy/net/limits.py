"""Prepares for the kernel's limits on a process: descriptors, of which a shell often allows only 1,024, and threads."""

import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from proxy.aside import NO_THREAD
from proxy.errors import OperatorError

SPARED = 64
"""Descriptors that arrays' connections leave to lanes, files and visitors. If they took all, a tunnel that has lost its
lanes would never get another: the streams that wait for one hold what it would need."""
_SPARED_PART = 1 / 4
"""Where few are allowed altogether, they leave that part of them."""

THREADS = 8
"""Threads of a site beside its first: one of the log, two each of the store and the history, and some that come and go.
None of libuv's: it would start four at once for the first name that it looks up, and end the process if it cannot."""


def use_all_descriptors() -> None:
    """Raise the soft limit to the hard one. Where that is forbidden the site goes on (`isthmus doctor` tells)."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def is_spared(descriptor: int) -> bool:
    """True if an array's connection must not have that descriptor: the highest are left to others. (The kernel gives
    the lowest that is free.)"""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit != resource.RLIM_INFINITY and descriptor >= limit - min(SPARED, limit * _SPARED_PART)


def ensure_threads() -> None:
    """See that a site's threads can be started. Raises OperatorError."""
    enough = threading.Event()
    threads = [threading.Thread(target=enough.wait, daemon=True) for _ in range(THREADS)]
    started = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
    except RuntimeError:
        raise OperatorError(f"a site needs {THREADS} threads, and has got {len(started)}: {NO_THREAD}") from None
    finally:
        enough.set()
        for thread in started:
            thread.join()


def started_thread(name: str) -> ThreadPoolExecutor:
    """An executor whose one thread is started now: days later, at the first need, a limit may have been reached."""
    pool = ThreadPoolExecutor(1, thread_name_prefix=name)
    pool.submit(int)
    return pool
