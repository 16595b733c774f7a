"""The standard streams, any of which may be closed when the process is started."""

import os
import sys

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def complete() -> None:
    """Open /dev/null for each of descriptors 0 to 2 that is closed, and make Python's stream on it.

    Otherwise whatever is opened next would get that number: the event loop's own descriptors, or a key's file.
    """
    for descriptor, (name, mode) in enumerate(_STREAMS):
        if not _is_open(descriptor):
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
