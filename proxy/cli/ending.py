"""How a command that has something to tidy up ends before its time: in order, by a signal."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP end us as an interrupt from the keyboard does: with all that was started.

    Once one of the three has come the first two are ignored: a terminal that goes sends several. What is ignored
    before, as by nohup, stays so.
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
