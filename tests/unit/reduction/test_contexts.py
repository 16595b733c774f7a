"""One zstd frame a stream: what a context brings to small batches, and what is refused before it costs memory."""

from collections.abc import Callable
from typing import cast

import pytest
import zstandard

from dedupstore.store import ChunkStore
from proxy.reduction.batch import BATCH_PLAIN_MAX, CODEC_CONTEXT, assemble
from proxy.reduction.compression import decode, zstd
from proxy.reduction.contexts import ContextReader, ContextWriter
from proxy.reduction.decoder import Decoder
from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import literal_token
from proxy.reduction.windows import WINDOW_LOG_MAX, WINDOW_LOG_MIN, WINDOWS_MAX, ContextMemory
from tests.memory import tracing
from tests.unit.reduction.batches import delivered
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import noise, site

SIZE = 1000
FRAME_HEADER = bytes.fromhex("28b52ffd 00 78")
"""Magic, no flags, a window of 32 MiB."""
RAW, RLE, COMPRESSED, RESERVED = range(4)


def reader() -> ContextReader:
    return ContextReader(ContextMemory())


def block(kind: int, size: int, content: bytes, *, last: bool = False) -> bytes:
    return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content


def raw(content: bytes) -> bytes:
    return block(RAW, len(content), content)


def begun() -> ContextReader:
    """A reader whose frame has begun."""
    found = reader()
    assert found.decode(FRAME_HEADER + raw(b"before"), 6) == b"before"
    return found


# -- what it is for --------------------------------------------------------------------------------------------


def test_a_batch_finds_what_an_earlier_one_said() -> None:
    page = noise(4000)
    writer, far = ContextWriter(1, WINDOW_LOG_MAX), reader()
    first = writer.encode(page)
    assert far.decode(first, len(page)) == page
    for _ in range(300):
        other = noise(20_000)
        assert far.decode(writer.encode(other), len(other)) == other
    again = writer.encode(page)
    assert len(again) < 200 < len(zstd(19)(page))
    assert far.decode(again, len(page)) == page


def test_a_new_frame_replaces_the_former_one() -> None:
    memory = ContextMemory()
    far = ContextReader(memory)
    for window_log in (WINDOW_LOG_MAX, WINDOW_LOG_MIN, WINDOW_LOG_MAX):
        assert far.decode(ContextWriter(3, window_log).encode(b"anew"), 4) == b"anew"
        assert memory.used == 1 << window_log
    far.close()
    far.close()
    assert memory.used == 0


def test_the_largest_batches() -> None:
    """Whole, and in as many blocks as it takes; nothing stays behind in the decompressor."""
    writer, far = ContextWriter(1, WINDOW_LOG_MIN), reader()
    for content in (noise(BATCH_PLAIN_MAX), bytes(BATCH_PLAIN_MAX), noise(BATCH_PLAIN_MAX - 1)):
        assert far.decode(writer.encode(content), len(content)) == content


def test_each_stream_has_a_frame_of_its_own() -> None:
    memory = ContextMemory()
    writers = [ContextWriter(1, WINDOW_LOG_MIN) for _ in range(3)]
    readers = [ContextReader(memory) for _ in writers]
    for turn in range(3):
        for number, (writer, far) in enumerate(zip(writers, readers, strict=True)):
            content = noise(3000, number * 10 + turn)
            assert far.decode(writer.encode(content), len(content)) == content


# -- what a peer may send --------------------------------------------------------------------------------------


def test_blocks_made_by_hand() -> None:
    """So that each of those below is refused for its own reason."""
    far = begun()
    assert far.decode(raw(b"abc") + block(RLE, 4, b"x"), 7) == b"abcxxxx"
    assert far.decode(block(RLE, 128 << 10, b"x"), 128 << 10) == b"x" * (128 << 10)


@pytest.mark.parametrize(
    ("data", "length"),
    [
        (b"", 1),
        (raw(b"abc"), 0),
        (raw(b"abc"), 2),
        (raw(b"abc"), 4),
        (raw(b"abc") + b"x", 3),
        (raw(b"abc") + raw(b""), 3),
        (raw(b"abc")[:-1], 3),
        (raw(b"abc")[:-1], 2),
        (raw(b"abc")[:2], 3),
        (block(RAW, 3, b"abc", last=True), 3),
        (block(RAW, 3, b"abc", last=True) + FRAME_HEADER + raw(b"def"), 6),
        (raw(b"abc") + FRAME_HEADER + raw(b"def"), 6),
        (raw(b"abc") + bytes.fromhex("502a4d18 04000000") + b"skip", 3),
        (block(RESERVED, 3, b"abc"), 3),
        (block(COMPRESSED, 30, noise(30)), 100),
        (block(RLE, (128 << 10) + 1, b"x"), (128 << 10) + 1),
        (block(RLE, 128 << 10, b"x") * 5, BATCH_PLAIN_MAX),
        (block(RLE, 128 << 10, b"x") * 140_000, BATCH_PLAIN_MAX),
        (FRAME_HEADER, 1),
        (FRAME_HEADER[:5], 1),
        (FRAME_HEADER[:4], 1),
        (FRAME_HEADER + b"\0" * 2, 1),
        (bytes.fromhex("28b52ffd 00 79") + raw(b"abc"), 3),
        (bytes.fromhex("28b52ffd 00 ff") + raw(b"abc"), 3),
        (bytes.fromhex("28b52ffd 20 03") + raw(b"abc"), 3),
        (bytes.fromhex("28b52ffd 04 78") + raw(b"abc"), 3),
        (bytes.fromhex("28b52ffd 01 78 07") + raw(b"abc"), 3),
        (bytes.fromhex("28b52ffd 08 78") + raw(b"abc"), 3),
        (bytes.fromhex("28b52ffd 00 00") + raw(bytes(1025)), 1025),
        (zstd(1)(bytes(SIZE)), SIZE),
        (noise(100), 100),
    ],
    ids=[
        "nothing",
        "nothing declared",
        "one byte too many",
        "one byte too few",
        "a byte behind the blocks",
        "an empty block",
        "a block cut off",
        "a block cut off, its bytes declared",
        "a block header cut off",
        "the last block",
        "the last block and another frame",
        "another frame in the middle",
        "a skippable frame behind it",
        "a block of no kind",
        "a block that cannot be decoded",
        "a block too long",
        "a bomb of a few bytes",
        "a bomb as long as a batch",
        "a header and no block",
        "a header cut off",
        "magic alone",
        "a header and a block header cut off",
        "a window a little too large",
        "the largest window",
        "a content size",
        "a checksum",
        "a dictionary",
        "a reserved bit",
        "a block longer than its window",
        "a whole frame",
        "noise",
    ],
)
def test_what_is_refused(data: bytes, length: int) -> None:
    far = begun()
    with tracing() as taken, pytest.raises(BatchError):
        far.decode(data, length)
    assert taken.most < 3 * BATCH_PLAIN_MAX  # what the frame yields passes a buffer of one batch


def test_nothing_is_continued_that_was_not_begun() -> None:
    with pytest.raises(BatchError, match="was not begun"):
        reader().decode(raw(b"abc"), 3)
    far = begun()
    far.close()
    with pytest.raises(BatchError, match="was not begun"):
        far.decode(raw(b"abc"), 3)


def test_a_context_of_another_stream_is_none() -> None:
    writer = ContextWriter(3, WINDOW_LOG_MIN)
    page = noise(2000)
    writer.encode(page)
    with pytest.raises(BatchError):
        begun().decode(writer.encode(page), len(page))


def test_windows_of_all_streams_are_bounded() -> None:
    memory = ContextMemory()
    start = FRAME_HEADER + raw(b"a")
    readers = [ContextReader(memory) for _ in range(WINDOWS_MAX >> WINDOW_LOG_MAX)]
    for far in readers:
        assert far.decode(start, 1) == b"a"
    with pytest.raises(BatchError, match="zstd windows of more than"):
        ContextReader(memory).decode(start, 1)
    assert readers[0].decode(start, 1) == b"a"
    readers[0].close()
    assert ContextReader(memory).decode(start, 1) == b"a"


@pytest.mark.parametrize("end", [lambda far: far.close(), lambda far: far.finish(b"")], ids=["reset", "END"])
def test_a_stream_that_ends_gives_its_window_back(end: Callable[[Decoder], None]) -> None:
    memory, here = ContextMemory(), site(ShelfStore())
    far = Decoder(cast(ChunkStore, here.store), here.holdings, context=ContextReader(memory))
    literals = FRAME_HEADER + raw(b"abc")
    assert delivered(far, memoryview(assemble(3, CODEC_CONTEXT, literal_token(3), 3, [literals]))) == b"abc"
    assert memory.used == 1 << WINDOW_LOG_MAX
    end(far)
    assert memory.used == 0


def test_the_smallest_windows_count_as_more() -> None:
    memory = ContextMemory()
    smallest = bytes.fromhex("28b52ffd 00 00") + raw(b"a")
    for _ in range(WINDOWS_MAX >> WINDOW_LOG_MIN):
        assert ContextReader(memory).decode(smallest, 1) == b"a"
    with pytest.raises(BatchError, match="zstd windows of more than"):
        ContextReader(memory).decode(smallest, 1)


def test_fills_have_no_context() -> None:
    with pytest.raises(BatchError, match="unknown codec 2"):
        decode(CODEC_CONTEXT, FRAME_HEADER + raw(b"abc"), 3)


def test_windows_are_as_large_as_they_are_said_to_be() -> None:
    for window_log in range(WINDOW_LOG_MIN, WINDOW_LOG_MAX + 1):
        for level in (1, 12):
            begin = ContextWriter(level, window_log).encode(b"abc")
            assert zstandard.get_frame_parameters(begin).window_size == 1 << window_log
