"""Passes a TUN device from the container in whose network it is to the container that carries the packets.

The device's descriptor and the name of its end go over a Unix socket in a volume that both containers mount
(`SCM_RIGHTS`, unix(7)).
"""

import os
import socket
import time
from pathlib import Path

from bench.wan.errors import WanFailure

NAME_BYTES = 16
PAUSE_SECONDS = 0.2


def give(path: Path, end: str, device: int) -> socket.socket:
    """Hand the device over to the line; wait if there is none yet. Returns a connection that ends with the line."""
    while True:
        taker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            taker.connect(str(path))
            socket.send_fds(taker, [end.encode()], [device])
        except OSError:  # there is no line yet, or no more
            taker.close()
            time.sleep(PAUSE_SECONDS)
        else:
            return taker


def listen(path: Path) -> socket.socket:
    """Listen at `path` for devices, in place of a socket that an earlier line left there."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen()
    return listener


def take(listener: socket.socket, ends: tuple[str, ...]) -> tuple[dict[str, int], list[socket.socket]]:
    """Wait for the devices of all `ends`. Returns their descriptors by end, and the connections to those who gave them.

    Raises WanFailure if something else is handed over.
    """
    devices: dict[str, int] = {}
    givers: list[socket.socket] = []
    while len(devices) < len(ends):
        giver, _ = listener.accept()
        name, descriptors, _, _ = socket.recv_fds(giver, NAME_BYTES, 1)
        end = name.decode(errors="replace")
        if end not in ends or len(descriptors) != 1:
            giver.close()
            for descriptor in [*descriptors, *devices.values()]:
                os.close(descriptor)
            raise WanFailure(f"{end!r} came with {len(descriptors)} devices; an end is one of {', '.join(ends)}")
        if end in devices:  # that end was restarted meanwhile
            os.close(devices[end])
        devices[end] = descriptors[0]
        givers.append(giver)
    return devices, givers
