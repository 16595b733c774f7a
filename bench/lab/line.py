"""`python -m bench.lab.line DIRECTORY MTU KEY=VALUE ...`: carries packets between two ends, until SIGTERM.

It takes the ends' devices at DIRECTORY/ends. Settings are those of `isthmus wan up`, and the line obeys `isthmus wan
set`, `outage` and `stats`. It needs no capability, since the interfaces belong to the ends.
"""

import argparse
import signal
import socket
import sys
from pathlib import Path

from bench.lab.handover import listen, take
from bench.programs import whole
from bench.wan.backend import TunBackend
from bench.wan.command import socket_of
from bench.wan.errors import WanFailure
from bench.wan.keeper import Keeper
from bench.wan.settings import KINDS, WAYS, Line

PREFIX = "isthmus-wan"
"""The default of `isthmus wan --prefix`."""


def main() -> None:
    """Take the devices of both ends, then carry packets."""
    directory, line = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        with listen(directory / "ends") as ends:
            devices, givers = take(ends, WAYS)
        carry(TunBackend(devices, line, None, lambda end: 0), line, givers)
    except WanFailure as error:
        sys.exit(f"the line cannot be: {error}")


def arguments() -> tuple[Path, Line]:
    """The command line's."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab.line")
    parser.add_argument("directory", type=Path)
    parser.add_argument("mtu", type=whole)
    parser.add_argument("settings", nargs="*", type=setting, metavar="KEY=VALUE")
    told = parser.parse_args()
    try:
        return told.directory, Line.of(told.mtu, **dict(told.settings))
    except WanFailure as error:
        parser.error(str(error))


def setting(text: str) -> tuple[str, str]:
    """A key and its value, from an argument. Raises argparse.ArgumentTypeError."""
    key, equals, value = text.partition("=")
    if not equals or key not in KINDS:
        raise argparse.ArgumentTypeError(f'"{text}" is no setting; write KEY=VALUE, KEY one of {", ".join(KINDS)}')
    return key, value


def carry(backend: TunBackend, line: Line, givers: list[socket.socket]) -> None:
    """Carry packets until SIGTERM, which ends the connections to `givers`, too. Raises WanFailure if the line fails."""
    path = socket_of(PREFIX)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.bind(str(path))
        control.listen()
        print(f"the line is up: {line.as_dict()}", flush=True)
        try:
            Keeper(backend, line).run(givers[0], control)
        finally:
            backend.close()


if __name__ == "__main__":
    main()
