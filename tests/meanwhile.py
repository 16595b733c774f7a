"""Work that goes on beside what is looked at, in threads, and has ended when that is left."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meanwhile(*works: Callable[[threading.Event], None]) -> Iterator[None]:
    """Each work in a thread of its own. It has to end soon when the event that it is given is set."""
    over = threading.Event()
    threads = [threading.Thread(target=work, args=(over,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
