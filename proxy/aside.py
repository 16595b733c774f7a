"""Blocking work on a daemon thread of its own: its caller need not wait for it, and it ends with the process."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

DISK_SECONDS = 30.0
"""How long reading files may take, also from a disk that is far away."""
UNANSWERED = f"their disk has not answered for {DISK_SECONDS:g} s; see to it, and reload again"

NO_THREAD = (
    "no thread can be started; raise TasksMax of the systemd unit, the limit of pids of a container, ulimit -u or -v;"
    " or update the container's engine: Docker before 20.10.10 refuses what newer images start threads by (clone3)"
)
"""The error where no thread can be started: a limit is reached, or a filter of system calls is older than the C
library."""


def aside(call: Callable[[], T], name: str, unwanted: Callable[[T], None] = lambda result: None) -> "Future[T]":
    """Begin `call` on a thread of that name; the future has its result or its exception.

    A caller that waits no longer may cancel the future: a result that comes later is given to `unwanted`, on the
    thread. Where no thread can be started the future has an OSError.
    """
    answer: Future[T] = Future()
    try:
        threading.Thread(target=_work, args=(call, answer, unwanted), name=name, daemon=True).start()
    except RuntimeError:  # the kernel gives no thread, at least now: an OSError, as when a disk or a network fails
        answer.set_exception(OSError(NO_THREAD))
    return answer


def _work(call: Callable[[], T], answer: "Future[T]", unwanted: Callable[[T], None]) -> None:
    try:
        result = call()
    except BaseException as error:  # of any kind: otherwise whoever waits for the future would wait for ever
        if answer.set_running_or_notify_cancel():
            answer.set_exception(error)
        return
    if answer.set_running_or_notify_cancel():
        answer.set_result(result)
    else:
        unwanted(result)
