"""Opening the store on a thread that nobody has to wait for.

After a kill it walks its whole index, which may take minutes, and cannot be interrupted. The thread ends with the
process, wherever it is: a store that is being opened bears that, as it bears a kill.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future

from dedupstore.store import ChunkStore


def open_aside(open_store: Callable[[], ChunkStore]) -> "Future[ChunkStore]":
    """Begin to open it. Who waits no longer may cancel the future; should the store still come, it is closed."""
    opened: Future[ChunkStore] = Future()
    threading.Thread(target=_open, args=(open_store, opened), name="opening", daemon=True).start()
    return opened


def _open(open_store: Callable[[], ChunkStore], opened: "Future[ChunkStore]") -> None:
    try:
        store = open_store()
    except BaseException as error:  # whatever it is, nobody may wait for it for ever
        if opened.set_running_or_notify_cancel():
            opened.set_exception(error)
        return
    if opened.set_running_or_notify_cancel():
        opened.set_result(store)
    else:
        store.close()
