"""What a process that was forked for a site does; imported where it is forked from."""

import ctypes
import os
import signal
import sys
from pathlib import Path

import proxy.cli.commands
import proxy.cli.serve
from bench.bound import PR_SET_PDEATHSIG
from bench.wan.namespaces import enter

__all__ = ["serve"]


def serve(config: str, log: str, namespace: str) -> None:
    """`isthmus serve`, in that network namespace and with that log. It dies with whoever it was forked for."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not os.path.samefile(namespace, "/proc/self/ns/net"):
        enter(Path(namespace))
    _redirect(os.open(os.devnull, os.O_RDONLY), 0)
    _redirect(os.open(log, os.O_WRONLY | os.O_APPEND), 1, 2)
    sys.argv = ["isthmus", "serve", config]
    proxy.cli.main()


def _redirect(opened: int, *standard: int) -> None:
    for descriptor in standard:
        os.dup2(opened, descriptor)
    os.close(opened)
