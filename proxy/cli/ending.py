"""Signals for commands that have something to tidy up: they end them in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_in_order() -> Iterator[None]:
    """In this `with` block SIGTERM and SIGHUP raise KeyboardInterrupt, as SIGINT does.

    Once one of the three has come SIGTERM and SIGHUP are ignored, since a terminal that is closed sends several. What
    was ignored before, as under nohup, stays ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in {signal.SIGTERM, signal.SIGHUP} & mine.keys():
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    mine = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    mine = {number: handler for number, handler in mine.items() if handler is not signal.SIG_IGN}
    for number in mine:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in mine.items():
            signal.signal(number, handler)
