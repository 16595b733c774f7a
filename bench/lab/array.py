"""`python -m bench.lab.array DIRECTORY SIZE`: runs an array, that is an iSCSI target with one volume, until SIGTERM."""

import argparse
import signal
import sys
from pathlib import Path

from bench.array import ArrayFailure, IscsiTarget
from bench.programs import size_of

LISTEN, PORT = "0.0.0.0", 3260


def main() -> None:
    """Serve until SIGTERM or SIGINT. The volume is the file DIRECTORY/unit1, and begins empty."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab.array")
    parser.add_argument("directory", type=Path)
    parser.add_argument("size", type=size_of, help="of the volume")
    told = parser.parse_args()
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        with IscsiTarget(told.directory, [told.size], listen=LISTEN, port=PORT):
            print(f"an array with a volume of {told.size} bytes on port {PORT}", flush=True)
            signal.sigwait(signals)
    except ArrayFailure as error:
        sys.exit(f"the array failed: {error}")


if __name__ == "__main__":
    main()
