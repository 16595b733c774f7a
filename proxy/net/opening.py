"""Opens the store on a thread that nobody has to wait for.

A store that was not closed in order walks its whole index, which may take minutes and cannot be interrupted. The thread
ends with the process, even in the middle of that: the store survives it as it survives a kill.
"""

from collections.abc import Callable
from concurrent.futures import Future

from dedupstore.store import ChunkStore
from proxy.aside import aside


def open_aside(open_store: Callable[[], ChunkStore]) -> "Future[ChunkStore]":
    """Begin to open the store. A caller that waits no longer cancels the future; if the store opens all the same, it is
    closed."""
    return aside(open_store, "opening", unwanted=lambda store: store.close())
