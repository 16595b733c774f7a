"""`python -m bench.lab.end east|west SOCKET MTU`: a site's end of the line, in this container's network, until SIGTERM.

It needs CAP_NET_ADMIN and /dev/net/tun, since it makes a network interface. Sites that share this network need neither.
"""

import signal
import sys
from pathlib import Path

from bench.lab.handover import give
from bench.wan import namespaces
from bench.wan.errors import WanFailure


def main() -> None:
    """Make the device, and hand it to each line that comes."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    end, path, mtu = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    try:
        device = namespaces.open_tun_here()
        namespaces.bring_up(None, namespaces.ADDRESSES[end], mtu)
    except WanFailure as error:
        sys.exit(f"the end {end} of the line cannot be made: {error}")
    print(f"end {end} of the line: {namespaces.ADDRESSES[end]}", flush=True)
    while True:
        with give(path, end, device) as taker:
            taker.recv(1)  # nothing ever comes but the end


if __name__ == "__main__":
    main()
