"""Importing what a command needs, which can take a second."""

import os
import signal
import threading
from importlib import import_module
from types import FrameType, ModuleType

from proxy.errors import ExitCode


def load(name: str) -> ModuleType:
    """Import a module. Ctrl-C meanwhile ends the process at once, since nothing has been done yet.

    A KeyboardInterrupt in the middle of an import might be printed by the interpreter, which then goes on.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return import_module(name)
    signal.signal(signal.SIGINT, _end)
    try:
        return import_module(name)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(ExitCode.INTERRUPTED)
