"""Any bytes are frames, a HELLO or a whole tunnel's life, or they are refused with the error declared for it.

    python tests/fuzz/fuzz_protocol.py [CORPUS] [-max_total_time=SECONDS]

Coverage-guided, by atheris; what CORPUS holds is where it begins. The first byte of an input chooses what it is taken
for. `test_fuzz_protocol.py` gives each a short run, and runs the corpus without atheris.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

FUZZING = __name__ == "__main__"
if FUZZING:
    import atheris

with atheris.instrument_imports(include=["proxy.protocol"]) if FUZZING else nullcontext():
    from proxy.protocol import frames
    from proxy.protocol.codes import Capability, FrameType
    from proxy.protocol.errors import PeerError
    from proxy.protocol.events import DataReceived, Event, StreamOffered
    from proxy.protocol.hello import Hello
    from proxy.protocol.reader import Buffer, Frame, FrameReader
    from proxy.protocol.settings import TunnelSettings
    from proxy.protocol.tunnel import Tunnel
    from tests.unit.protocol.playbook import lane_reader

SETTINGS = TunnelSettings(memory=1 << 20, unacked_max=1 << 20, streams=4)
MEMORY_MAX = 8 << 20
"""What one input may take: a reader's buffer holds one frame, a tunnel's credit is 1 MiB."""

DECODERS: dict[int, Callable[[Buffer], object]] = {
    FrameType.HELLO: Hello.decode,
    FrameType.CLOSE: frames.decode_close,
    FrameType.PING: lambda payload: frames.decode_token("PING", payload),
    FrameType.PONG: lambda payload: frames.decode_token("PONG", payload),
    FrameType.ACK: lambda payload: list(frames.decode_ack(payload)),
    FrameType.CREDIT: lambda payload: list(frames.decode_credit(payload)),
    FrameType.DRAIN: frames.decode_drain,
    FrameType.LANES: frames.decode_lanes,
    FrameType.STORE: frames.decode_store,
    FrameType.OPEN: frames.decode_open,
    FrameType.ACCEPT: frames.decode_accept,
    FrameType.DATA: frames.decode_data,
    FrameType.END: frames.decode_end,
    FrameType.RESET: frames.decode_reset,
    FrameType.MISS: frames.decode_miss,
    FrameType.FILL: frames.decode_fill,
    FrameType.WAIVE: frames.decode_waive,
}


def read(reader: FrameReader, content: bytes, piece: int) -> Iterator[Frame]:
    """The frames of the content, given to the reader in pieces of that many bytes. Raises PeerError."""
    for at in range(0, len(content), piece):
        part = content[at : at + piece]
        reader.get_buffer()[: len(part)] = part
        reader.received(len(part))
        while (frame := reader.next_frame()) is not None:
            yield frame


def outcome(content: bytes, piece: int) -> list[str]:
    """What each frame means, and the error that ends it, in words."""
    found = []
    try:
        for frame in read(lane_reader(), content, piece):
            found.append(f"{frame[:3]} {DECODERS[frame.type](frame.payload)}")
    except PeerError as error:
        found.append(str(error))
    return found


def one_lane(content: bytes) -> None:
    """Frames mean the same whole and byte by byte."""
    assert outcome(content, 4096) == outcome(content, 1)


def one_hello(content: bytes) -> None:
    """A HELLO that was understood can be said again."""
    hello = Hello.decode(content)
    again = Hello.decode(hello.encode())
    assert (again.site, again.half, again.epochs) == (hello.site, hello.half, hello.epochs)


def one_tunnel(content: bytes) -> None:
    """Frames of a peer on two lanes; the driver accepts what is offered and takes what comes."""
    tunnel = joined_tunnel()
    try:
        for frame in read(lane_reader(), content, 4096):
            tunnel.receive(1 + frame.number % 2, frame._replace(number=frame.number // 2), 1.0)
            for event in events_of(tunnel):
                drive(tunnel, event)
            tunnel.take({1: 100_000, 2: 10_000}, 1.0)
    finally:
        tunnel.tick(2.0)
        figures = tunnel.figures
        assert figures.credit_bytes <= SETTINGS.memory
        assert figures.streams <= 7 * SETTINGS.streams
        assert figures.unacked_bytes <= SETTINGS.unacked_max


def joined_tunnel() -> Tunnel:
    """With lanes 1 and 2 up, and two streams of ours open."""
    tunnel = Tunnel(SETTINGS, "left", "right", bytes(16), [bytes(8)], 0.0, random=bytes)
    can = frozenset(Capability)
    peer = Hello("right", "left", b"half of right   ", None, bytes(16), (bytes(8),), 1 << 16, 4, can)
    for lane in (1, 2):
        tunnel.join(peer, dialler=False, now=0.0)
        tunnel.lane_up(lane, 0.0)
        tunnel.receive(lane, Frame(FrameType.ACK, 0, 0, b""), 0.0)
    for _ in range(2):
        stream = tunnel.streams.open("array", "")
        tunnel.streams.send_data(stream, b"\0\0\0\x09" + bytes(17), 9)
        tunnel.streams.send_end(stream, 9, b"")
    tunnel.take({1: 10_000}, 0.0)
    return tunnel


def events_of(tunnel: Tunnel) -> Iterator[Event]:
    while (event := tunnel.next_event()) is not None:
        yield event


def drive(tunnel: Tunnel, event: Event) -> None:
    if isinstance(event, StreamOffered):
        tunnel.streams.accept(event.stream)
    elif isinstance(event, DataReceived) and event.plain % 2:
        tunnel.streams.consumed(event.stream)


TARGETS: list[Callable[[bytes], None]] = [one_lane, one_hello, one_tunnel]


def take(content: bytes) -> None:
    """For what its first byte says."""
    if not content:
        return
    with suppress(PeerError):
        TARGETS[content[0] % len(TARGETS)](content[1:])


def one_input(content: bytes) -> None:
    """Take it, in bounded memory."""
    before = most_memory()
    take(content)
    taken = most_memory() - before
    if taken > MEMORY_MAX:
        raise AssertionError(f"{taken} bytes of memory for an input of {len(content)}")


def most_memory() -> int:
    """Bytes that this process has had at once (proc(5), VmPeak): tracing each allocation took three quarters of a run.

    All inputs before took little, so no more than that little hides behind it.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmPeak:")[2].split(maxsplit=1)[0]) << 10


if FUZZING:
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
