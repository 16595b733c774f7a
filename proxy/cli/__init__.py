"""The command line: what an operator types.

`commands`, with `wan_commands` and `bench_commands`, says what can be typed: names, options, help texts. It imports
nothing heavy, so that `isthmus --help` is quick. What a command does is in the module of its name (`run`), which is
imported when the command is called. Errors become messages and exit codes in one place, `root`; `standard` replaces
standard streams that are closed. Only this package knows all others: `serve` gives the service its status listener,
`demo`, `wan` and `bench` call the bench where it is installed.
"""

import signal
import sys

from proxy.cli import standard
from proxy.cli.loading import load
from proxy.errors import ExitCode


def main() -> None:
    """The entry point of the script `isthmus`. Ctrl-C shows no traceback, not even while modules are imported.

    A reload that is asked for while a site starts, by SIGHUP, waits until the site heeds it (`proxy.net.service`).
    """
    if sys.argv[1:2] == ["serve"]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    standard.complete()  # before anything is opened
    try:
        load("proxy.cli.commands").main()
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
