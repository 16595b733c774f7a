"""What a process that was forked for a command does; imported where it is forked from."""

import ctypes
import os
import signal
import sys
from pathlib import Path

import proxy.cli.commands
import proxy.cli.doctor
import proxy.cli.serve
from bench.bound import PR_SET_PDEATHSIG
from bench.wan.namespaces import enter

__all__ = ["isthmus"]


def isthmus(words: tuple[str, ...], out: str, err: str, namespace: str) -> None:
    """The command, in that network namespace and with these files. It dies with whoever it was forked for."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not os.path.samefile(namespace, "/proc/self/ns/net"):
        enter(Path(namespace))
    _redirect(os.open(os.devnull, os.O_RDONLY), 0)
    _redirect(os.open(out, os.O_WRONLY | os.O_APPEND), 1)
    _redirect(os.open(err, os.O_WRONLY | os.O_APPEND), 2)
    sys.argv = ["isthmus", *words]
    proxy.cli.main()


def _redirect(opened: int, standard: int) -> None:
    os.dup2(opened, standard)
    os.close(opened)
