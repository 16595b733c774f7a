"""`python -m bench.lab.end east|west SOCKET MTU`: one end of the line, in this container's network, until SIGTERM.

It needs CAP_NET_ADMIN and /dev/net/tun, since it makes a network interface. A site that shares this network needs
neither.
"""

import signal
import sys
from pathlib import Path

from bench.lab.handover import give
from bench.wan import namespaces
from bench.wan.errors import WanFailure


def main() -> None:
    """Make the device, and hand it to the line at SOCKET; when that ends, to the next one."""
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
            taker.recv(1)  # the line sends nothing, so this returns when it has ended


if __name__ == "__main__":
    main()
