"""A peer whose frames are lost, repeated, shuffled, cut or mixed with noise: the array gets an exact prefix or nothing.

A clean end is seen only if everything came, in whatever order. Each seed is a conversation of its own with the same
site, which is as well at the end as at the beginning.
"""

import contextlib
import socket
from collections.abc import Callable
from random import Random

import pytest

from proxy.protocol.codes import FrameType
from proxy.protocol.frames import encode_end
from proxy.protocol.reader import encode
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array, prefix_of, swallow
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import Ended, ScriptedLane, data, hello, open_
from tests.integration.peers.stage import Hub, hub, watch_memory

SEEDS = 40
CONTENT = volume("random", 100_000)
MUCH = 32 << 20


def conversation() -> list[bytes]:
    """A good stream of the content, frame by frame."""
    parts = [CONTENT[at : at + 7000] for at in range(0, len(CONTENT), 7000)]
    frames = [open_(1), *(data(1, number, part) for number, part in enumerate(parts, 1))]
    return [*frames, encode(FrameType.END, 1, len(frames), encode_end(len(CONTENT), b""))]


def lose(draw: Random, frames: list[bytes]) -> list[bytes]:
    del frames[draw.randrange(len(frames))]
    return frames


def repeat(draw: Random, frames: list[bytes]) -> list[bytes]:
    frames.insert(draw.randrange(len(frames)), draw.choice(frames))
    return frames


def shuffle(draw: Random, frames: list[bytes]) -> list[bytes]:
    draw.shuffle(frames)
    return frames


def cut(draw: Random, frames: list[bytes]) -> list[bytes]:
    whole = b"".join(frames)
    return [whole[: draw.randrange(len(whole))]]


def garble(draw: Random, frames: list[bytes]) -> list[bytes]:
    """Noise in a header: the contents of frames are guarded by TLS, and by checks where they make chunks."""
    at = draw.randrange(len(frames))
    head = bytearray(frames[at])
    head[draw.randrange(16)] ^= 1 << draw.randrange(8)
    frames[at] = bytes(head)
    return frames


def add_noise(draw: Random, frames: list[bytes]) -> list[bytes]:
    frames.insert(draw.randrange(len(frames) + 1), draw.randbytes(draw.randrange(1, 300)))
    return frames


def speak(stage: Hub, frames: list[bytes]) -> None:
    """Say all this on a lane, end our side of the connection, and wait for the site's."""
    with stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(*frames)
        hang_up(lane)


def hang_up(lane: ScriptedLane) -> None:
    """End our side in order, behind everything that was sent."""
    with contextlib.suppress(OSError):  # the site may have ended it
        socket.socket.shutdown(lane.connection, socket.SHUT_WR)  # its own method would go on without TLS
    try:
        while True:
            lane.receive()
    except Ended:
        return


@pytest.mark.parametrize("spoil", [lose, repeat, shuffle, cut, garble, add_noise])
def test_an_exact_prefix_or_nothing(bed: Bed, spoil: Callable[[Random, list[bytes]], list[bytes]]) -> None:
    with Array(swallow) as array, hub(bed, array.address, grace="0s") as stage:
        growth = watch_memory(stage.west)
        for seed in range(SEEDS):
            speak(stage, spoil(Random(seed), conversation()))
        for arrival in array.arrivals:
            prefix_of(CONTENT, arrival.wait())
        assert growth() < MUCH


def test_noise_alone(bed: Bed) -> None:
    """Before HELLO, and after it."""
    with Array() as array, hub(bed, array.address) as stage:
        for seed in range(SEEDS):
            draw = Random(seed)
            with stage.dial() as lane:
                lane.send(draw.randbytes(draw.randrange(1, 4000)))
                hang_up(lane)
            speak(stage, [draw.randbytes(draw.randrange(1, 4000))])
        assert not array.arrivals
        stage.still_works(array)
