"""Prepares for the kernel's limit on a process's threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

from proxy.aside import NO_THREAD
from proxy.errors import OperatorError

THREADS = 8
"""Threads of a site beside its first: one of the log, two each of the store and the history, and some that come and go.
None of libuv's: it would start four at once for the first name that it looks up, and end the process if it cannot."""


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
