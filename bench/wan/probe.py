"""Measures a line from outside: by numbered UDP packets one way, or by one TCP connection."""

import contextlib
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from bench.wan.errors import WanFailure
from bench.wan.wan import Wan

PORT = 9
HEADERS = 28
"""Bytes of IP and UDP."""
SILENCE = 1.0
"""Once all packets were sent: if none comes for so many seconds beyond the delay, no more will come."""
QUIET = 30.0
"""Seconds after which a connection over which nothing comes is given up."""
ROOM = 64 << 20
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_STAMP = struct.Struct("qq")


class Arrival(NamedTuple):
    """A packet that arrived."""

    number: int
    sent: float
    came: float
    """By the same clock as `sent`, in seconds; the kernel's time stamp."""


@dataclass(frozen=True)
class Findings:
    """What a train of packets has met."""

    loss: float
    """Share of the packets."""
    burst: float
    """Mean length of a run of losses; 0 if there were none."""
    delay: float
    """Seconds: the median."""
    rate: float
    """Bits a second between the first and the last that came."""


def judge(sent: int, size: int, arrivals: list[Arrival]) -> Findings:
    """What a train of `sent` packets, numbered from 0, of `size` bytes with headers, has met. Needs two arrivals."""
    came = {arrival.number for arrival in arrivals}
    lost = [number for number in range(sent) if number not in came]
    runs = sum(number - 1 in came or number == 0 for number in lost)
    times = [arrival.came for arrival in arrivals]
    return Findings(
        len(lost) / sent,
        len(lost) / runs if runs else 0.0,
        statistics.median_high(arrival.came - arrival.sent for arrival in arrivals),
        (len(arrivals) - 1) * size * 8 / (max(times) - min(times)),
    )


@contextlib.contextmanager
def _measuring() -> Iterator[None]:
    """What the system says of the line ends it, as WanFailure. Also a packet that cannot be sent: it is no lost one."""
    try:
        yield
    except OSError as error:
        raise WanFailure(f"the line cannot be measured: {error.strerror or error}") from None


@_measuring()
def train(wan: Wan, packets: int, size: int, pause: float, delay: float) -> Findings:
    """Send packets from east to west, one each `pause` seconds, on a line with that delay. Raises WanFailure."""
    with wan.inside("west"):
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sink:
        sink.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        sink.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, ROOM)
        sink.bind((wan.addresses["west"], PORT))
        sink.settimeout(SILENCE + delay)
        end = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            sending = threads.submit(_send, wan, packets, size, pause, end)
            try:
                arrivals = list(_arrivals(sink, sending))
            except BaseException:
                end.set()  # an interrupt takes the line down
                raise
        sending.result()
    if len(arrivals) < 2:
        raise WanFailure(f"the line cannot be measured: of {packets} packets {len(arrivals)} came")
    return judge(packets, size, arrivals)


def _send(wan: Wan, packets: int, size: int, pause: float, end: threading.Event) -> None:
    with wan.inside("east"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
        source.connect((wan.addresses["west"], PORT))
        start, rest = time.monotonic(), bytes(size - HEADERS - _STAMP.size)
        for number in range(packets):
            time.sleep(max(0.0, start + number * pause - time.monotonic()))
            if end.is_set():
                return
            source.send(_STAMP.pack(number, time.time_ns()) + rest)


def _arrivals(sink: socket.socket, sending: "Future[None]") -> Iterator[Arrival]:
    while True:
        sent_all = sending.done()
        try:
            packet, [(_, _, stamp), *_], _, _ = sink.recvmsg(_STAMP.size, 64)
        except TimeoutError:
            if not sent_all:  # the sender may stand still for seconds, on a busy machine
                continue
            return
        number, sent = _STAMP.unpack(packet)
        seconds, nanoseconds = _STAMP.unpack(stamp)
        yield Arrival(number, sent / 1e9, seconds + nanoseconds / 1e9)


@_measuring()
def tcp_rate(wan: Wan, congestion: str, settle: float, seconds: float) -> float:
    """Bits of payload a second that one TCP connection carries from east to west, after `settle` seconds. Raises
    WanFailure."""
    with wan.inside("west"):
        listener = socket.create_server((wan.addresses["west"], PORT))
    with wan.inside("east"):
        near = socket.socket()
    with listener, near:
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        near.connect((wan.addresses["west"], PORT))
        far, _ = listener.accept()
        with far:
            far.settimeout(QUIET)
            threading.Thread(target=_fill, args=[near], daemon=True).start()
            _take(far, settle)
            began = time.monotonic()
            taken = _take(far, seconds)
            return taken * 8 / (time.monotonic() - began)


def _fill(near: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed, at the end
        while True:
            near.sendall(bytes(256 << 10))


def _take(far: socket.socket, seconds: float) -> int:
    """Receive for that time; how many bytes came."""
    room, taken, until = bytearray(1 << 20), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        taken += far.recv_into(room)
    return taken
