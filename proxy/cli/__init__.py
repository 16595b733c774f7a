"""The command line: what an operator types.

`commands` says what can be typed (with `wan_commands` and `bench_commands`): names, options, help texts;
it imports nothing heavy, so that `isthmus --help` is quick. What a command does is in the module of its name (`run`),
imported when it is asked for. `root` is the one place where errors become messages and exit codes, `standard` where
standard streams that are closed are made up for. Only here is everything put together: `serve` gives the service its
status listener, `demo` calls the bench where it is installed.
"""

import sys

from proxy.cli import standard
from proxy.cli.loading import load
from proxy.errors import ExitCode


def main() -> None:
    """The entry point of the script `isthmus`. Ctrl-C is as quiet while modules are read as it is later."""
    standard.complete()  # before anything is opened
    try:
        load("proxy.cli.commands").main()
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
