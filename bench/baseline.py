"""A plain TLS relay pair: what a tunnel without reduction does on the same event loop, for comparison.

Two processes on uvloop with buffered protocols and mutual TLS 1.3 with pinned certificates, as in the product; each
connection gets a TLS connection of its own. Nothing else: no streams, no store, no verification. It reads 64 KiB at a
time: with the product's 128 it is no faster.
"""

import argparse
import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import uvloop

from bench.processes import next_line, own, talking
from bench.sites import Address, free_port

READ_BYTES = 64 << 10


class End(asyncio.BufferedProtocol):
    """One of the two connections that a relay joins; what arrives on one is written to the other."""

    def __init__(self, made: "Callable[[End], Awaitable[None]] | None" = None) -> None:
        self._made = made
        self._room = memoryview(bytearray(READ_BYTES))
        self._joining: asyncio.Future[None] | None = None
        self._early: list[bytes] = []
        """What arrived while the other connection was being opened: uvloop does not let us pause before that."""
        self.other: End | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are no subclasses of it
        if self._made:
            self._joining = asyncio.ensure_future(self._made(self))

    def join(self, other: "End") -> None:
        """From now on write to the other, which is connected, and let it write here."""
        self.other, other.other = other, self
        for data in self._early:
            assert other.transport is not None
            other.transport.write(data)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._room[:nbytes])
        if self.other and self.other.transport:
            self.other.transport.write(data)
        else:
            self._early.append(data)

    def pause_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.resume_reading()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other and self.other.transport:
            self.other.transport.close()


async def relay(listen: Address, to: Address, near: ssl.SSLContext | None, far: ssl.SSLContext | None) -> None:
    """Join every connection to a new one; one of the contexts is None, for the plain side."""
    loop = asyncio.get_running_loop()

    async def join(accepted: End) -> None:
        assert accepted.transport is not None
        try:
            _, opened = await loop.create_connection(End, *to, ssl=far)
        except OSError:
            accepted.transport.close()
            return
        accepted.join(opened)

    server = await loop.create_server(lambda: End(join), *listen, ssl=near)
    print("ready", flush=True)
    await server.serve_forever()


def context(directory: Path, own: str, peer: str, *, accepting: bool) -> ssl.SSLContext:
    """TLS 1.3 with the certificates that `isthmus keygen` made."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if accepting else ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_cert_chain(directory / f"{own}.crt", directory / f"{own}.key")
    made.load_verify_locations(directory / f"{peer}.crt")
    return made


@contextmanager
def plain_pair(directory: Path, to: Address) -> Iterator[Address]:
    """Start both relays, and yield the address that leads through them to `to`. The directory has the keys of both."""
    near, tunnel = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())
    with ExitStack() as stack:
        stack.enter_context(_started(directory, "west", tunnel, to))
        stack.enter_context(_started(directory, "east", near, tunnel))
        yield near


@contextmanager
def _started(directory: Path, name: str, listen: Address, to: Address) -> Iterator[None]:
    with talking(own("bench.baseline", name, str(directory), *map(str, (*listen, *to)))) as process:
        if next_line(process) != "ready\n":
            raise OSError(f"the relay {name} of the baseline ended with status {process.wait()}")
        yield


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.baseline", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=["east", "west"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("listen_host")
    parser.add_argument("listen_port", type=int)
    parser.add_argument("to_host")
    parser.add_argument("to_port", type=int)
    options = parser.parse_args()
    listen, to = (options.listen_host, options.listen_port), (options.to_host, options.to_port)
    east = options.name == "east"
    tls = context(options.directory, options.name, "west" if east else "east", accepting=not east)
    uvloop.run(relay(listen, to, None, tls) if east else relay(listen, to, tls, None))


if __name__ == "__main__":
    main()
