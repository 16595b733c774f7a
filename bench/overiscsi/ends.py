"""Ends of an iSCSI connection that cost next to nothing: an initiator and a target of bytes that were made beforehand.

Each is a process of its own. After the login the source sends a file in large writes, whatever comes back. The sink
has an answer for each piece of the file, and sends it when the piece's last byte has come. Both compare what they got
with what was to come, after their clocks have stopped. They write results to stdout as lines of JSON; `run` starts a
source, and makes one result of both.
"""

import argparse
import json
import mmap
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.load import (
    LOOPBACK,
    WRITE_BYTES,
    Run,
    answer,
    ask,
    ended,
    fill,
    mapped,
    same,
    say,
    telling,
)
from bench.overiscsi.conversation import Conversation
from bench.processes import PATIENCE_SECONDS, Process, own, talking
from bench.sites import Address

MODULE = "bench.overiscsi.ends"


@dataclass(frozen=True)
class Play:
    """A conversation as two files: what the initiator sends, and which part of it gets which answer."""

    file: Path
    size: int
    """Bytes of the volume that is written."""

    @property
    def plan(self) -> Path:
        """JSON: for each piece its length and, as hexadecimal digits, the answer."""
        return self.file.with_suffix(".json")

    def remove(self) -> None:
        """Delete both files."""
        self.file.unlink()
        self.plan.unlink()


def write_down(conversation: Conversation, content: bytes, file: Path) -> Play:
    """Write the conversation of a volume with that content to `file` and its plan."""
    pieces = conversation.ahead(memoryview(content))
    plan = []
    with file.open("wb") as opened:
        for piece, back in zip(pieces, conversation.back(len(content)), strict=True):
            opened.write(piece)
            plan.append((len(piece), back.hex()))
    play = Play(file, len(content))
    play.plan.write_text(json.dumps(plan))
    return play


@contextmanager
def target(play: Play, port: int) -> Iterator[Process]:
    """A sink that listens on that port of loopback. It ends with the context."""
    with talking(own(MODULE, "sink", "--file", str(play.file), "--port", str(port))) as process:
        answer(process)
        yield process


def run(play: Play, via: Address, sink: Process) -> Run:
    """Run a source that sends everything to `via`, which leads to `sink`. The result counts the volume's bytes only.

    Raises LoadFailure.
    """
    to = ["--host", via[0], "--port", str(via[1])]
    sent = ask("source", "--file", str(play.file), *to, module=MODULE)
    received = answer(sink)
    return Run(play.size, received["finished"] - sent["started"], sent["identical"] and received["identical"])


# -- the ends themselves ----------------------------------------------------------------------------------------


def _read_plan(file: Path) -> list[tuple[int, bytes]]:
    return [(length, bytes.fromhex(back)) for length, back in json.loads(file.with_suffix(".json").read_text())]


def source(file: Path, to: Address) -> None:
    """Send the file, and take all answers meanwhile. Say when that began, and whether the answers were right.

    Only the answer to the login is waited for before the rest is sent, as every initiator does: after it PDUs may have
    digests. The clock starts after the login.
    """
    data = memoryview(mapped(file))
    plan = _read_plan(file)
    login, welcome = plan[0]
    expected = b"".join(back for _, back in plan)
    found = bytearray(len(expected))
    with socket.create_connection(to, timeout=PATIENCE_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(data[:login])
        _take(connection, memoryview(found)[: len(welcome)])
        listening = threading.Thread(target=_take, args=[connection, memoryview(found)[len(welcome) :]], daemon=True)
        listening.start()
        started = time.monotonic()
        for at in range(login, len(data), WRITE_BYTES):
            connection.sendall(data[at : at + WRITE_BYTES])
        listening.join()
        connection.shutdown(socket.SHUT_WR)
        over = ended(connection)
    say(started=started, identical=over and bytes(found) == expected)


def _take(connection: socket.socket, room: memoryview) -> None:
    taken = 0
    while taken < len(room):
        count = connection.recv_into(room[taken:])
        if not count:
            return
        taken += count


def sink(file: Path, port: int) -> None:
    """For each connection in turn: receive the file's bytes, and answer them; say when the last one came, and whether
    all were right."""
    expected = memoryview(mapped(file))
    plan = _read_plan(file)
    room = memoryview(mmap.mmap(-1, len(expected), flags=mmap.MAP_PRIVATE | mmap.MAP_POPULATE))
    with socket.create_server((LOOPBACK, port)) as listener:
        say(port=port)
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                _receive(connection, room, plan)
                finished = time.monotonic()
                over = ended(connection)
            say(finished=finished, identical=over and same(room, expected))


def _receive(connection: socket.socket, room: memoryview, plan: list[tuple[int, bytes]]) -> None:
    at = 0
    for length, back in plan:
        fill(room[at : at + length], connection)
        at += length
        connection.sendall(back)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.overiscsi.ends", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("role", choices=["source", "sink"])
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--host", default=LOOPBACK)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    if options.role == "source":
        source(options.file, (options.host, options.port))
    else:
        with telling():
            sink(options.file, options.port)


if __name__ == "__main__":
    main()
