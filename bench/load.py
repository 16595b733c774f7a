"""Ends that are faster than what is between them, each in a process of its own: `source`, `sink` and `echo`.

The source sends a file that it has mapped, in large writes; the sink receives into memory that it has ready, and
compares with the same file only after its clock has stopped. Both report times of the system's monotonic clock, so
a run lasts from the source's first write to the sink's last byte. Each connection begins with a `HEADING` that says
which part of the file follows. Results are lines of JSON on stdout; `run` starts a source and puts both ends' results
together.
"""

import argparse
import json
import mmap
import queue
import random
import socket
import statistics
import struct
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.processes import PATIENCE_SECONDS, Process, next_line, output_of, own, talking
from bench.sites import Address

WRITE_BYTES = 1 << 20
READ_BYTES = 256 << 10
QUESTION_BYTES = 4096
LOOPBACK = "127.0.0.1"
CONNECTIONS_MAX = 256
HEADING = struct.Struct(">QQI")
"""Offset in the file, length, and how many inserted bytes come before it."""
DONE = b"."


class LoadFailure(Exception):
    """An end failed; the message has what it said."""


@dataclass(frozen=True)
class Shape:
    """How the source sends: over how many connections, whether writes vary in size with pauses between them, and how
    many bytes are inserted before the file's."""

    connections: int = 1
    varied: bool = False
    inserted: int = 0


@dataclass(frozen=True)
class Run:
    """What came of one run."""

    bytes: int
    seconds: float
    identical: bool

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self.bytes / self.seconds


# -- starting both ends -----------------------------------------------------------------------------------------


Listening = AbstractContextManager[tuple[Address, Process]]
"""An end that listens: its address, and its process. It ends with the context."""


def sinking(file: Path) -> Listening:
    """A sink on loopback that compares what arrives with the file. Raises LoadFailure."""
    return _listening("sink", LOOPBACK, "--file", str(file))


def echoing(host: str = LOOPBACK, size: int = QUESTION_BYTES) -> Listening:
    """An echo that answers questions of `size` bytes. Raises LoadFailure."""
    return _listening("echo", host, "--host", host, "--bytes", str(size))


@contextmanager
def _listening(role: str, host: str, *arguments: str) -> Iterator[tuple[Address, Process]]:
    with talking(own("bench.load", role, *arguments)) as process:
        yield (host, int(answer(process)["port"])), process


def run(file: Path, via: Address, sink: Process, shape: Shape) -> Run:
    """Send the file to `via`, which leads to the sink. Raises LoadFailure."""
    arguments = ["--connections", str(shape.connections), "--inserted", str(shape.inserted)]
    varied = ["--varied"] if shape.varied else []
    started = ask("source", "--file", str(file), "--to", _text(via), *arguments, *varied)["started"]
    received = answer(sink)
    verdict = answer(sink)
    return Run(received["bytes"], received["finished"] - started, verdict["identical"])


def latency(to: Address, count: int, size: int = QUESTION_BYTES, every: float = 0.0) -> dict[str, float]:
    """What `summary` says of the seconds that so many answers took; arguments as of `question`. Raises LoadFailure."""
    how = ["--count", str(count), "--bytes", str(size), "--every", str(every)]
    return ask("question", "--to", _text(to), *how)


def _text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def ask(role: str, *arguments: str, module: str = "bench.load") -> dict[str, Any]:
    """Run a process of that role to its end; what it says. Raises LoadFailure."""
    found: dict[str, Any] = json.loads(output_of(own(module, role, *arguments), LoadFailure, f"the {role}"))
    return found


def answer(process: Process) -> dict[str, Any]:
    """The next line of JSON that a process says. Raises LoadFailure if it has ended."""
    if not (line := next_line(process)):
        raise LoadFailure(f"an end of the line ended with status {process.wait()}")
    found: dict[str, Any] = json.loads(line)
    if "failed" in found:
        raise LoadFailure(f"an end of the line failed: {found['failed']}")
    return found


# -- the ends themselves ----------------------------------------------------------------------------------------


def mapped(file: Path) -> mmap.mmap:
    """The file, mapped and read into memory before this returns."""
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ)


def source(file: Path, to: Address, shape: Shape) -> None:
    """Send the file over some connections at once, a part each, and say when it began."""
    data = memoryview(mapped(file))
    part = -(-len(data) // shape.connections)
    ends = [socket.create_connection(to, timeout=PATIENCE_SECONDS) for _ in range(shape.connections)]
    with ThreadPoolExecutor(shape.connections) as threads:
        started = time.monotonic()
        sending = [threads.submit(_send, end, data, number * part, part, shape) for number, end in enumerate(ends)]
    for each in sending:
        each.result()
    say(started=started)


def _send(connection: socket.socket, data: memoryview, offset: int, part: int, shape: Shape) -> None:
    """Send one part and wait until the sink has it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    rest = data[offset : offset + part]
    heading = HEADING.pack(offset, len(rest), shape.inserted)
    with connection:
        connection.sendall(heading + bytes(shape.inserted))
        for size, pause in _writes(shape, offset):
            connection.sendall(rest[:size])
            rest = rest[size:]
            if not rest:
                break
            if pause:
                time.sleep(pause)
        if connection.recv(1) != DONE:
            raise LoadFailure("the sink did not say that it has everything")


def _writes(shape: Shape, seed: int) -> Iterator[tuple[int, float]]:
    """Sizes of writes, and how long to pause after each. The same shape gives the same writes."""
    draw = random.Random(seed)
    while True:
        if shape.varied:
            yield draw.choice((512, 1448, 8192, 65536, 100_000, 262_144, 1_000_001)), draw.choice((0, 0, 0.0005, 0.002))
        else:
            yield WRITE_BYTES, 0.0


def sink(file: Path) -> None:
    """Run after run: receive connections until they make up the file, say when that was, compare, say the result."""
    expected = memoryview(mapped(file))
    room = memoryview(mmap.mmap(-1, len(expected) + READ_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_POPULATE))
    with socket.create_server((LOOPBACK, 0), backlog=1024) as listener:
        say(port=listener.getsockname()[1])
        while True:
            arrived = _receive_all(listener, room, len(expected))
            finished = time.monotonic()
            say(finished=finished, bytes=arrived.bytes)
            over = [ended(connection) for connection in arrived.connections]
            identical = arrived.inserted_right and all(over) and same(room[: len(expected)], expected)
            clear(room)
            say(identical=identical)


def ended(connection: socket.socket) -> bool:
    """Whether the other side ends without sending more than it announced. Closes the connection."""
    connection.settimeout(PATIENCE_SECONDS)
    with connection:
        return not connection.recv(1)


def clear(room: memoryview) -> None:
    """Overwrite what this run has left, which could make the next one seem identical."""
    blank = bytes(READ_BYTES)
    for at in range(0, len(room) - READ_BYTES, READ_BYTES):
        room[at : at + READ_BYTES] = blank


def same(one: memoryview, other: memoryview) -> bool:
    """Whether both are equal. Pieces are compared as bytes, since comparing memoryviews is a hundred times slower."""
    pieces = range(0, len(one), READ_BYTES)
    return all(bytes(one[at : at + READ_BYTES]) == bytes(other[at : at + READ_BYTES]) for at in pieces)


@dataclass(frozen=True)
class _Arrived:
    """What a run has brought."""

    bytes: int
    """Plain bytes, those that were inserted included."""
    inserted_right: bool
    """The inserted bytes arrived as they were sent."""
    connections: list[socket.socket]
    """Still open."""


def _receive_all(listener: socket.socket, room: memoryview, expected: int) -> _Arrived:
    announced = inserted = 0
    right, connections, receiving = True, [], []
    with ThreadPoolExecutor(CONNECTIONS_MAX) as threads:
        while announced < expected:
            connection, _ = listener.accept()
            offset, length, before = HEADING.unpack(_exactly(connection, HEADING.size))
            right = _exactly(connection, before) == bytes(before) and right
            announced += length
            inserted += before
            connections.append(connection)
            receiving.append(threads.submit(_receive, connection, room[offset : offset + length]))
    return _Arrived(sum(each.result() for each in receiving) + inserted, right, connections)


def _receive(connection: socket.socket, room: memoryview) -> int:
    fill(room, connection)
    connection.sendall(DONE)
    return len(room)


def fill(room: memoryview, connection: socket.socket) -> None:
    """Receive into `room` until it is full. Raises LoadFailure if the connection ends before."""
    received = 0
    while received < len(room):
        count = connection.recv_into(room[received : received + READ_BYTES])
        if not count:
            raise LoadFailure(f"the connection ended after {received} of {len(room)} bytes")
        received += count


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        found += connection.recv(count - len(found)) or _ended()
    return found


def _ended() -> bytes:
    raise LoadFailure("the connection ended early")


def echo(host: str, size: int) -> None:
    """Answer every question of `size` bytes with its bytes in reverse, so that no answer repeats its question."""
    with socket.create_server((host, 0)) as listener:
        say(port=listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                try:
                    while True:
                        connection.sendall(_exactly(connection, size)[::-1])
                except (LoadFailure, OSError):
                    continue


def question(to: Address, count: int, size: int, every: float) -> None:
    """Ask, and say how long the answers took. A question goes every `every` seconds; if that is 0, when the answer to
    the one before has come."""
    with socket.create_connection(to, timeout=PATIENCE_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = _ask_by_the_clock(connection, count, size, every) if every else _ask_in_turn(connection, count, size)
        say(**summary([time.perf_counter() - began for began in asked]))


def _ask_in_turn(connection: socket.socket, count: int, size: int) -> Iterator[float]:
    """Ask each question when the one before is answered; yields when it was asked, once its answer has come."""
    draw = random.Random(0)
    for _ in range(count):
        text = draw.randbytes(size)
        began = time.perf_counter()
        connection.sendall(text)
        _check_answer(connection, text)
        yield began


def _ask_by_the_clock(connection: socket.socket, count: int, size: int, every: float) -> Iterator[float]:
    """As `_ask_in_turn`, but a question every `every` seconds, without waiting for earlier answers."""
    texts = [random.Random(number).randbytes(size) for number in range(count)]
    times: queue.SimpleQueue[float] = queue.SimpleQueue()

    def speak() -> None:
        start = time.perf_counter()
        for number, text in enumerate(texts):
            time.sleep(max(0.0, start + number * every - time.perf_counter()))
            times.put(time.perf_counter())
            connection.sendall(text)

    threading.Thread(target=speak, name="questions", daemon=True).start()
    for text in texts:
        _check_answer(connection, text)
        yield times.get()


def _check_answer(connection: socket.socket, text: bytes) -> None:
    if _exactly(connection, len(text)) != text[::-1]:
        raise LoadFailure("an answer does not belong to its question")


def summary(seconds: list[float]) -> dict[str, float]:
    """Median and 99th percentile, which is no more than the longest. Needs two values at least."""
    late = statistics.quantiles(seconds, n=100, method="inclusive")[98]
    return {"median": statistics.median(seconds), "percentile_99": late}


def say(**fields: object) -> None:
    """One line of JSON."""
    print(json.dumps(fields), flush=True)


@contextmanager
def telling() -> Iterator[None]:
    """Tell a failure within it to the bench only, on stdout, and end the process: a bench that was interrupted does not
    listen any more."""
    try:
        yield
    except (LoadFailure, OSError) as error:
        say(failed=str(error))
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("role", choices=["source", "sink", "echo", "question"])
    parser.add_argument("--file", type=Path)
    parser.add_argument("--to", type=_address)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--inserted", type=int, default=0)
    parser.add_argument("--varied", action="store_true")
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=QUESTION_BYTES)
    parser.add_argument("--every", type=float, default=0.0)
    parser.add_argument("--host", default=LOOPBACK)
    options = parser.parse_args()
    match options.role:
        case "source":
            source(options.file, options.to, Shape(options.connections, options.varied, options.inserted))
        case "sink":
            with telling():
                sink(options.file)
        case "echo":
            echo(options.host, options.bytes)
        case "question":
            question(options.to, options.count, options.bytes, options.every)


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    main()
