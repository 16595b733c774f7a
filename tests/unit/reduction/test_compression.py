"""Literal bytes on their way: what is gained, when it is given up, and what is refused before it costs memory."""

from itertools import pairwise

import pytest
import zstandard

from proxy.reduction.batch import CODEC_NONE, CODEC_ZSTD
from proxy.reduction.compression import WINDOW_MAX, Compressor, decode, zstd
from proxy.reduction.errors import BatchError
from tests.memory import tracing
from tests.unit.reduction.batches import encoded
from tests.unit.reduction.sites import noise

TEXT = b"a line that compresses well\n" * 100


class Counting:
    """A compressor that says how often it was asked, and yields what it was told to."""

    def __init__(self, share: float) -> None:
        self.calls = 0
        self.share = share

    def __call__(self, literals: bytes) -> bytes:
        self.calls += 1
        return bytes(int(len(literals) * self.share))


def test_what_compresses_is_compressed() -> None:
    codec, data = encoded(Compressor(zstd(1)), TEXT)
    assert codec == CODEC_ZSTD
    assert len(data) < len(TEXT) / 10
    assert decode(codec, data, len(TEXT)) == TEXT


@pytest.mark.parametrize("literals", [b"", b"aaaa", noise(4096)], ids=["nothing", "too short", "random"])
def test_what_gains_nothing_goes_as_it_is(literals: bytes) -> None:
    assert encoded(Compressor(zstd(1)), literals) == (CODEC_NONE, literals)


def test_without_a_codec_everything_goes_as_it_is() -> None:
    assert encoded(Compressor(None), TEXT) == (CODEC_NONE, TEXT)


def test_a_small_gain_is_no_gain() -> None:
    assert encoded(Compressor(Counting(0.98)), TEXT)[0] == CODEC_NONE
    assert encoded(Compressor(Counting(0.96)), TEXT)[0] == CODEC_ZSTD


def test_the_ratio_is_that_of_the_last_few_batches() -> None:
    compress = Counting(0.5)
    compressor = Compressor(compress)
    assert compressor.ratio == 1
    before = 1.0
    for _ in range(50):
        encoded(compressor, TEXT)
        assert 0.5 <= compressor.ratio <= before
        before = compressor.ratio
    assert compressor.ratio == pytest.approx(0.5, abs=0.01)
    compress.share = 1.0
    encoded(compressor, TEXT)
    assert compressor.ratio == 1


def test_it_rests_ever_longer_while_nothing_is_gained() -> None:
    """Between two attempts 2, 4, 8, 16, 32, 32, ... batches go as they are."""
    compress = Counting(1.0)
    compressor = Compressor(compress, "zstd")
    tried: list[int] = []
    for at in range(140):
        encoded(compressor, TEXT)
        if compress.calls > len(tried):
            tried.append(at)
    assert [later - sooner - 1 for sooner, later in pairwise(tried)] == [2, 4, 8, 16, 32, 32, 32]
    assert compressor.in_words == "none"


def test_short_batches_that_gain_nothing_tell_little() -> None:
    compress = Counting(1.0)
    compressor = Compressor(compress, "zstd")
    for _ in range(10):
        encoded(compressor, TEXT[:2000])
    assert compress.calls == 10
    assert compressor.in_words == "zstd"


def test_a_gain_ends_the_rest() -> None:
    compress = Counting(1.0)
    compressor = Compressor(compress, "zstd")
    for _ in range(1 + 2 + 1 + 4):
        encoded(compressor, TEXT)
    compress.share = 0.5
    assert encoded(compressor, TEXT)[0] == CODEC_ZSTD
    assert compressor.in_words == "zstd"
    compress.share = 1.0
    encoded(compressor, TEXT)
    before = compress.calls
    for _ in range(2):
        encoded(compressor, TEXT)
    assert compress.calls == before
    encoded(compressor, TEXT)
    assert compress.calls == before + 1


# -- what a peer may send --------------------------------------------------------------------------------------

SIZE = 1000
FRAME = zstandard.compress(bytes(SIZE))
SKIPPABLE = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"skip"


def frame_declaring(size: int, plain: bytes, window: int | None = None) -> bytes:
    """A frame of `plain` whose header says `size`: magic, descriptor (8 bytes of size, no segment), window, size."""
    whole = zstandard.ZstdCompressor(write_content_size=False, write_checksum=False).compress(plain)
    magic, descriptor, blocks = whole[:4], whole[4], whole[6:]
    assert descriptor == 0
    header = bytes((0b1100_0000, whole[5] if window is None else window))
    return magic + header + size.to_bytes(8, "little") + blocks


def with_dictionary() -> bytes:
    dictionary = zstandard.train_dictionary(1024, [noise(64, seed) * 4 for seed in range(200)])
    return zstandard.ZstdCompressor(dict_data=dictionary).compress(bytes(SIZE))


def with_wide_window() -> bytes:
    wide = zstandard.ZstdCompressionParameters(window_log=24, write_content_size=True)
    stream = zstandard.ZstdCompressor(compression_params=wide).compressobj(size=20 << 20)
    return stream.compress(bytes(20 << 20)) + stream.flush()


def test_the_forged_frames_are_what_they_are_called() -> None:
    """So that each of them is refused for its own reason below."""
    assert zstandard.get_frame_parameters(frame_declaring(SIZE, bytes(SIZE + 1))).content_size == SIZE
    assert decode(CODEC_ZSTD, frame_declaring(SIZE, bytes(SIZE)), SIZE) == bytes(SIZE)
    assert zstandard.get_frame_parameters(with_dictionary()).dict_id
    assert zstandard.get_frame_parameters(with_wide_window()).window_size > WINDOW_MAX


@pytest.mark.parametrize(
    ("data", "length"),
    [
        (FRAME, SIZE - 1),
        (FRAME, SIZE + 1),
        (FRAME, 2**32 - 1),
        (FRAME, 0),
        (zstandard.compress(bytes(16 << 20)), SIZE),
        (FRAME[:-1], SIZE),
        (FRAME[:6], SIZE),
        (b"", SIZE),
        (b"", 0),
        (noise(100), 100),
        (FRAME + b"x", SIZE),
        (FRAME + FRAME, SIZE),
        (FRAME + FRAME, 2 * SIZE),
        (FRAME + SKIPPABLE, SIZE),
        (SKIPPABLE + FRAME, SIZE),
        (SKIPPABLE, 4),
        (SKIPPABLE, 0),
        (zstandard.compress(b""), 0),
        (zstandard.compress(b"") + b"more", 0),
        (zstandard.ZstdCompressor(write_content_size=False).compress(bytes(SIZE)), SIZE),
        (frame_declaring(SIZE, bytes(SIZE + 1)), SIZE),
        (frame_declaring(SIZE, bytes(SIZE - 1)), SIZE),
        (frame_declaring(SIZE, bytes(16 << 20)), SIZE),
        (frame_declaring(2**64 - 1, bytes(SIZE)), SIZE),
        (frame_declaring(SIZE, bytes(SIZE), window=0xFF), SIZE),
        (frame_declaring(SIZE, bytes(SIZE), window=(23 - 10) << 3 | 1), SIZE),
        (with_dictionary(), SIZE),
        (with_wide_window(), 20 << 20),
    ],
    ids=[
        "declares one byte more than the batch",
        "declares one byte less than the batch",
        "declares far less than the batch",
        "batch without literals",
        "bomb that declares itself",
        "cut short",
        "cut short in its header",
        "no frame",
        "no frame, no literals",
        "noise",
        "one byte behind it",
        "second frame",
        "second frame, sizes summed up",
        "skippable frame behind it",
        "skippable frame before it",
        "skippable frame only",
        "skippable frame only, no literals",
        "empty frame",
        "empty frame, something behind it",
        "undeclared size",
        "forged size, one byte more in it",
        "forged size, one byte less in it",
        "forged size, a bomb in it",
        "forged size, the largest",
        "forged window, the largest",
        "forged window, a little too large",
        "dictionary",
        "window too large",
    ],
)
def test_frames_that_are_refused(data: bytes, length: int) -> None:
    with tracing() as taken, pytest.raises(BatchError):
        decode(CODEC_ZSTD, data, length)
    assert taken.most < 64 << 10


@pytest.mark.parametrize(
    ("data", "length", "reason"),
    [
        (zstandard.ZstdCompressor(write_content_size=False).compress(bytes(SIZE)), SIZE, "does not declare its size"),
        (FRAME, SIZE - 1, f"declares {SIZE} bytes where {SIZE - 1} are expected"),
        (frame_declaring(SIZE, bytes(SIZE), window=(23 - 10) << 3 | 1), SIZE, "has a window of"),
        (with_dictionary(), SIZE, "needs dictionary"),
    ],
    ids=["no size", "another size", "window", "dictionary"],
)
def test_the_reason_names_what_is_wrong(data: bytes, length: int, reason: str) -> None:
    """It said "declares 18446744073709551615 bytes" of a frame that declares none."""
    with pytest.raises(BatchError, match=reason):
        decode(CODEC_ZSTD, data, length)


def test_the_widest_window_is_accepted() -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=WINDOW_MAX.bit_length() - 1, write_content_size=True)
    stream = zstandard.ZstdCompressor(compression_params=wide).compressobj(size=SIZE)
    data = stream.compress(bytes(SIZE)) + stream.flush()
    assert zstandard.get_frame_parameters(data).content_size == SIZE
    assert decode(CODEC_ZSTD, data, SIZE) == bytes(SIZE)


@pytest.mark.parametrize("codec", [2, 255])
def test_unknown_codecs_are_refused(codec: int) -> None:
    with pytest.raises(BatchError, match=f"unknown codec {codec}"):
        decode(codec, b"abc", 3)


@pytest.mark.parametrize("length", [2, 4])
def test_literals_as_they_are_must_have_their_length(length: int) -> None:
    with pytest.raises(BatchError, match=f"3 literal bytes where {length} are declared"):
        decode(CODEC_NONE, b"abc", length)
