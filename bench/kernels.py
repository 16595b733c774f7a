"""How fast one core does each step that a byte goes through (a kernel), and the limit that follows for a pair.

Each kernel is run alone, as the product calls it, over the same data, 128 KiB at a time, so that it works in the cache
as it does in the pipeline. A site cannot be faster than the sum of its kernels; two sites and the two ends on few
cores cannot be faster than all of them together on all cores.
"""

import os
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import lmdb
import zstandard

from bench.baseline import context
from dedupstore.chunker import Chunker
from dedupstore.fingerprint import fingerprint

READ_BYTES = 128 << 10
CONTAINER_BYTES = 4 << 20
LEVEL = 1
"""Level of zstd, the product's default."""
INDEX_VALUE_BYTES = 18

Kernels = dict[str, float]
"""Seconds a byte, one core, by the kernel's name."""

SENDS = ("tcp receive", "chunking", "fingerprint")
RECEIVES = ("tcp receive", "tls decrypt")
WORK = {
    # pass, then what the near and the far site do with each plain byte
    "cold": (
        (*SENDS, "copy", "zstd compress", "tls encrypt", "tcp send"),
        (*RECEIVES, "zstd decompress", "fingerprint", "copy", "tcp send"),
    ),
    # warm, next to nothing crosses the WAN: the near site only names chunks, the far one copies and verifies them
    "warm": (SENDS, ("copy", "fingerprint", "tcp send")),
}
COMPARES = ("tcp receive", "compare")
"""What the near site does in a warm pass with a store in memory: it has what comes at hand, and compares."""


@dataclass(frozen=True)
class Limit:
    """Bytes a second that the kernels allow."""

    busier_site: float
    """The sum of the kernels of the near or the far site, one core."""
    machine: float
    """All kernels of both sites and both ends, on all cores."""

    @property
    def rate(self) -> float:
        """The lower of the two."""
        return min(self.busier_site, self.machine)


def limit(kernels: Kernels, name: str, store: str, cores: int | None = None) -> Limit:
    """The limit of a pass (cold or warm) with a store (memory or disk)."""
    sends, receives = WORK[name]
    if (name, store) == ("warm", "memory"):
        sends = COMPARES
    near, far = (sum(kernels[kernel] for kernel in site) for site in (sends, receives))
    if store == "disk" and name == "cold":
        near, far = near + kernels["index put"], far + kernels["index put"]
    ends = kernels["tcp send"] + kernels["tcp receive"]
    return Limit(1 / max(near, far), (cores or os.cpu_count() or 1) / (near + far + ends))


def measure(data: bytes, keys: Path) -> Kernels:
    """Measure all kernels over the data (tens of MiB); `keys`: the directory with the keys of east and west."""
    reads = [data[at : at + READ_BYTES] for at in range(0, len(data), READ_BYTES)]
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True)
    decompressor = zstandard.ZstdDecompressor()
    compressed = [compressor.compress(read) for read in reads]
    chunker = Chunker()
    chunks = list(_chunks(chunker, reads))
    encrypt, decrypt = _tls(reads, keys)
    send, receive = _tcp(reads)
    seconds = {
        "chunking": _timed(chunker.cut, reads),
        "fingerprint": _timed(fingerprint, chunks),
        "zstd compress": _timed(compressor.compress, reads),
        "zstd decompress": _timed(decompressor.decompress, compressed),
        "tls encrypt": encrypt,
        "tls decrypt": decrypt,
        "tcp send": send,
        "tcp receive": receive,
        "copy": _copy(reads),
        "compare": _compare(reads),
        "index put": _index(chunks, keys),
    }
    return {name: spent / len(data) for name, spent in seconds.items()}


def _timed(kernel: Callable[[bytes], object], pieces: Sequence[bytes]) -> float:
    for piece in pieces[:16]:
        kernel(piece)
    started = time.process_time()
    for piece in pieces:
        kernel(piece)
    return time.process_time() - started


def _chunks(chunker: Chunker, reads: Sequence[bytes]) -> Iterator[bytes]:
    for read in reads:
        at = 0
        for length in chunker.cut(read, final=True):
            yield read[at : at + length]
            at += length


def _copy(reads: Sequence[bytes]) -> float:
    """Seconds to copy into memory that is far larger than the caches, as a store is."""
    store = memoryview(bytearray(sum(map(len, reads))))
    at = 0
    started = time.process_time()
    for read in reads:
        store[at : at + len(read)] = read
        at += len(read)
    return time.process_time() - started


def _compare(reads: Sequence[bytes]) -> float:
    """Seconds to compare with such memory, which is copied for that."""
    store = memoryview(bytearray(b"".join(reads)))
    at = 0
    started = time.process_time()
    for read in reads:
        bytes(store[at : at + len(read)]).startswith(read)
        at += len(read)
    return time.process_time() - started


def _index(chunks: Sequence[bytes], room: Path) -> float:
    """Seconds to put the chunks into an index, one transaction a container, as the disk store does. This is processor
    time, so the disk's own does not count."""
    with (
        tempfile.TemporaryDirectory(dir=room) as directory,
        closing(lmdb.open(directory, map_size=256 << 20, metasync=False)) as index,
    ):
        names = [fingerprint(chunk) for chunk in chunks]
        a_container = max(CONTAINER_BYTES * len(chunks) // sum(map(len, chunks)), 1)
        started = time.process_time()
        for at in range(0, len(names), a_container):
            with index.begin(write=True) as transaction:
                for name in names[at : at + a_container]:
                    transaction.put(name, bytes(INDEX_VALUE_BYTES))
        return time.process_time() - started


def _tls(reads: Sequence[bytes], keys: Path) -> tuple[float, float]:
    """Seconds to encrypt and to decrypt, without sockets."""
    east_in, west_in = ssl.MemoryBIO(), ssl.MemoryBIO()
    east = context(keys, "east", "west", accepting=False).wrap_bio(east_in, west_in)
    west = context(keys, "west", "east", accepting=True).wrap_bio(west_in, east_in, server_side=True)
    _shake_hands(east, west)
    encrypting = decrypting = 0.0
    room = bytearray(READ_BYTES)
    for read in reads:
        began = time.process_time()
        east.write(read)
        between = time.process_time()
        left = len(read)
        while left:
            left -= cast(int, west.read(left, room))  # with a buffer it returns their number
        decrypting += time.process_time() - between
        encrypting += between - began
    return encrypting, decrypting


def _shake_hands(*ends: ssl.SSLObject) -> None:
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue


def _tcp(reads: Sequence[bytes]) -> tuple[float, float]:
    """Seconds to send and to receive over loopback, in turn, so that neither waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    room = memoryview(bytearray(READ_BYTES))
    sending = receiving = 0.0
    with near, far:
        for read in reads:
            began = time.process_time()
            near.sendall(read)
            between = time.process_time()
            left = len(read)
            while left:
                left -= far.recv_into(room[:left])
            receiving += time.process_time() - between
            sending += between - began
    return sending, receiving
