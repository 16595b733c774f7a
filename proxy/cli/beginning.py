"""What a process does before it looks at what was typed."""

import os
import signal
import sys

from proxy.cli import standard
from proxy.cli.loading import load


def begin() -> None:
    """Run what was typed, and exit.

    A reload that is asked for while a site starts, by SIGHUP, waits until the site heeds it (`proxy.net.service`).
    """
    if sys.argv[1:2] == ["serve"]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    standard.complete()  # before anything is opened
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]  # as a serial terminal tells its size: nobody means tables without columns
    load("proxy.cli.commands").main()
