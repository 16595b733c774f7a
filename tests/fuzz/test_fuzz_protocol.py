"""A short run of the coverage-guided fuzzer over frames, HELLO and tunnels, beginning with the vectors."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proxy.protocol import frames
from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.reader import encode
from tests.fuzz.fuzz_protocol import MEMORY_MAX, take
from tests.fuzz.short_run import needs_atheris, short_run

VECTORS = Path(__file__).parents[1] / "vectors" / "protocol"
LANE, HELLO, TUNNEL = 0, 1, 2
RUNS = {LANE: 5_000, HELLO: 12_000, TUNNEL: 4_000}
BATCH = b"\0\0\0\x0a" + bytes(8)


def vectors() -> dict[str, bytes]:
    """All vectors by name."""
    found = {}
    for path in sorted(VECTORS.glob("*.hex")):
        found[path.stem] = bytes.fromhex("".join(line.split("#")[0] for line in path.read_text().splitlines()))
    return found


def on_lane(lane: int, kind: FrameType, stream: int, number: int, payload: bytes = b"") -> bytes:
    """A frame for the tunnel's target, which reads the lane from the number's last bit."""
    return encode(kind, stream, 2 * number + lane - 1, payload)


def lives() -> Iterator[bytes]:
    """Tunnels' lives: a stream of the peer from OPEN to its end, one out of order, one of ours, one reset."""
    opening = frames.encode_open("array", "")
    yield b"".join(
        [
            on_lane(1, FrameType.OPEN, 2, 0, opening),
            on_lane(1, FrameType.DATA, 2, 1, BATCH),
            on_lane(1, FrameType.END, 2, 2, frames.encode_end(10, b"")),
            on_lane(1, FrameType.CREDIT, 0, 0, frames.encode_credit([(2, 0, 70000)])),
            on_lane(1, FrameType.PING, 0, 0, frames.encode_token(5)),
            on_lane(2, FrameType.DRAIN, 0, 0, b"bye")[:15] + b"\0bye",
        ]
    )
    yield b"".join(
        [
            on_lane(2, FrameType.DATA, 4, 2, BATCH),
            on_lane(2, FrameType.MISS, 4, 3, bytes(32)),
            on_lane(1, FrameType.DATA, 4, 1, BATCH),
            on_lane(1, FrameType.OPEN, 4, 0, opening),
            on_lane(2, FrameType.OPEN, 4, 0, opening),
            on_lane(2, FrameType.RESET, 4, 4, frames.encode_reset(ResetCode.CORRUPT, "why")),
        ]
    )
    yield b"".join(
        [
            on_lane(1, FrameType.ACK, 0, 0, frames.encode_ack([(1, 3), (3, 3)])),
            on_lane(1, FrameType.ACCEPT, 1, 0),
            on_lane(1, FrameType.CREDIT, 0, 0, frames.encode_credit([(1, 265, 70000)])),
            on_lane(1, FrameType.END, 1, 1, frames.encode_end(0, b"")),
            on_lane(1, FrameType.CLOSE, 0, 0, b"\0\7enough"),
        ]
    )


def corpus() -> list[bytes]:
    """One input each for what the targets should know to begin with."""
    known = vectors()
    inputs = [bytes((LANE,)) + frame for frame in known.values()]
    inputs.append(bytes((LANE,)) + b"".join(known.values()))
    inputs += [bytes((HELLO,)) + known[name][16:] for name in ("hello", "hello_paired")]
    inputs += [bytes((TUNNEL,)) + life for life in lives()]
    return inputs


@pytest.fixture
def memory_taken() -> Iterator[Callable[[bytes], int]]:
    """The most that an input takes at once, in bytes."""

    def measure(content: bytes) -> int:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        take(content)
        return tracemalloc.get_traced_memory()[1] - before

    tracemalloc.start()
    yield measure
    tracemalloc.stop()


def test_the_corpus_and_all_that_is_left_when_it_is_cut(memory_taken: Callable[[bytes], int]) -> None:
    for content in corpus():
        for end in range(0, len(content) + 1, 1 + len(content) // 60):
            assert memory_taken(content[:end]) <= MEMORY_MAX
            assert memory_taken(content[:end] + b"\xff" * 20) <= MEMORY_MAX
        assert memory_taken(content) <= MEMORY_MAX


@needs_atheris
@pytest.mark.parametrize("target", [LANE, HELLO, TUNNEL], ids=["lane", "hello", "tunnel"])
def test_a_short_run(tmp_path: Path, target: int) -> None:
    inputs = [content for content in corpus() if content[0] == target]
    short_run("fuzz_protocol.py", tmp_path, inputs, RUNS[target])
