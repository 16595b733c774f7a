"""Work on a thread of its own that nobody has to wait for: it ends with the process, wherever it is."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

DISK_SECONDS = 30.0
"""In which files should have been read, also from a disk that is far away."""
UNANSWERED = f"their disk has not answered for {DISK_SECONDS:g} s; see to it, and reload again"


def aside(call: Callable[[], T], name: str, unwanted: Callable[[T], None] = lambda result: None) -> "Future[T]":
    """Begin it; `name` is the thread's. Who waits no longer may cancel the future: what comes then is `unwanted`."""
    answer: Future[T] = Future()
    threading.Thread(target=_work, args=(call, answer, unwanted), name=name, daemon=True).start()
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
