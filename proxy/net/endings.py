"""How an array's connection ends: by FIN only where everything has been carried across, otherwise by RST."""

import asyncio
import socket
import struct

_LINGER_RESET = struct.pack("ii", 1, 0)
_LINGER_NOT = struct.pack("ii", 0, 0)


def reset_connection(connection: socket.socket) -> None:
    """Have a TCP connection end by RST when it is closed: an orderly end would say that all bytes have come."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)


def end_connection(connection: socket.socket) -> None:
    """Undo `reset_connection`."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)


def socket_of(transport: asyncio.Transport) -> socket.socket:
    """The transport's socket."""
    found: socket.socket = transport.get_extra_info("socket")
    return found


def reset_transport(transport: asyncio.Transport) -> None:
    """End it by RST, now."""
    reset_connection(socket_of(transport))
    transport.abort()
