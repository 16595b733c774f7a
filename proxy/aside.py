"""Work on a thread of its own that nobody has to wait for: it ends with the process, wherever it is."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

DISK_SECONDS = 30.0
"""In which files should have been read, also from a disk that is far away."""
UNANSWERED = f"their disk has not answered for {DISK_SECONDS:g} s; see to it, and reload again"

NO_THREAD = (
    "no thread can be started; raise TasksMax of the systemd unit, the limit of pids of a container, ulimit -u or -v;"
    " or update the container's engine: Docker before 20.10.10 refuses what newer images start threads by (clone3)"
)
"""What no work begins with where a limit is reached, or a filter of calls older than the C library is in force."""


def aside(call: Callable[[], T], name: str, unwanted: Callable[[T], None] = lambda result: None) -> "Future[T]":
    """Begin it; `name` is the thread's. Who waits no longer may cancel the future: what comes then is `unwanted`.

    Where no thread can be started the future has an OSError.
    """
    answer: Future[T] = Future()
    try:
        threading.Thread(target=_work, args=(call, answer, unwanted), name=name, daemon=True).start()
    except RuntimeError:  # the kernel gives no thread, at least now: as a disk or a network fails
        answer.set_exception(OSError(NO_THREAD))
    return answer


def _work(call: Callable[[], T], answer: "Future[T]", unwanted: Callable[[T], None]) -> None:
    try:
        result = call()
    except BaseException as error:  # whatever it is, nobody may wait for it for ever
        if answer.set_running_or_notify_cancel():
            answer.set_exception(error)
        return
    if answer.set_running_or_notify_cancel():
        answer.set_result(result)
    else:
        unwanted(result)
