"""Opening the store on a thread that nobody has to wait for.

After a kill it walks its whole index, which may take minutes, and cannot be interrupted. The thread ends with the
process, wherever it is: a store that is being opened bears that, as it bears a kill.
"""

from collections.abc import Callable
from concurrent.futures import Future

from dedupstore.store import ChunkStore
from proxy.aside import aside


def open_aside(open_store: Callable[[], ChunkStore]) -> "Future[ChunkStore]":
    """Begin to open it. Who waits no longer may cancel the future; should the store still come, it is closed."""
    return aside(open_store, "opening", unwanted=lambda store: store.close())
