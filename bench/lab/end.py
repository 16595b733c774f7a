"""`python -m bench.lab.end east|west SOCKET MTU`: one end of the line, in this container's network, until SIGTERM.

It needs CAP_NET_ADMIN and /dev/net/tun, since it makes a network interface. A site that shares this network needs
neither.
"""

import argparse
import signal
import sys
from pathlib import Path

from bench.lab.handover import give
from bench.programs import whole
from bench.wan import namespaces
from bench.wan.errors import WanFailure
from bench.wan.settings import WAYS


def main() -> None:
    """Make the device, and hand it to the line at SOCKET; when that ends, to the next one."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab.end")
    parser.add_argument("end", choices=WAYS)
    parser.add_argument("socket", type=Path, help="of the line")
    parser.add_argument("mtu", type=whole)
    told = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    address = namespaces.ADDRESSES[told.end]
    try:
        device = namespaces.open_tun_here()
        namespaces.bring_up(None, address, told.mtu)
    except WanFailure as error:
        sys.exit(f"the end {told.end} of the line cannot be made: {error}")
    print(f"end {told.end} of the line: {address}", flush=True)
    while True:
        with give(told.socket, told.end, device) as taker:
            taker.recv(1)  # the line sends nothing, so this returns when it has ended


if __name__ == "__main__":
    main()
