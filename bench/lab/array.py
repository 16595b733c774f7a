"""`python -m bench.lab.array DIRECTORY SIZE`: runs an array, that is an iSCSI target with one volume, until SIGTERM."""

import signal
import sys
from pathlib import Path

from bench.array import ArrayFailure, IscsiTarget
from proxy.config.units import parse_size

LISTEN, PORT = "0.0.0.0", 3260


def main() -> None:
    """Serve until SIGTERM or SIGINT. The volume is the file DIRECTORY/unit1, and begins empty."""
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    directory, size = Path(sys.argv[1]), parse_size(sys.argv[2])
    try:
        with IscsiTarget(directory, [size], listen=LISTEN, port=PORT):
            print(f"an array with a volume of {size} bytes on port {PORT}", flush=True)
            signal.sigwait(signals)
    except ArrayFailure as error:
        sys.exit(f"the array failed: {error}")


if __name__ == "__main__":
    main()
