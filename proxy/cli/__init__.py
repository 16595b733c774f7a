"""The command line: what an operator types.

`commands`, with `wan_commands` and `bench_commands`, says what can be typed: names, options, help texts. It imports
nothing heavy, so that `isthmus --help` is quick. What a command does is in the module of its name (`run`), which is
imported when the command is called. Errors become messages and exit codes in one place, `root`; `beginning` comes
before all that, and `standard` replaces standard streams that are closed. Only this package knows all others: `serve`
gives the service its status listener, `demo`, `wan` and `bench` call the bench where it is installed.
"""

import sys
from importlib import import_module


def main() -> None:
    """The entry point of the script `isthmus`. Ctrl-C shows no traceback, not even while modules are imported.

    So nothing is imported above that takes time, not even `ExitCode`, whose INTERRUPTED this is.
    """
    try:
        import_module("proxy.cli.beginning").begin()
    except KeyboardInterrupt:
        sys.exit(130)
