"""Payloads survive the way there and back; anything else is a value or a PeerError, in whatever pieces it comes."""

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.protocol import frames
from proxy.protocol.codes import CloseCode, ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.hello import Hello
from proxy.protocol.reader import Frame, encode
from proxy.text import printable
from tests.unit.protocol.playbook import fed, lane_reader

U32 = st.integers(0, (1 << 32) - 1)
U64 = st.integers(0, (1 << 64) - 1)
CLEAN = st.text().filter(lambda text: printable(text) == text)
"""Texts that a log line takes as they are."""
FINGERPRINT = st.binary(min_size=32, max_size=32)


def short(longest: int) -> st.SearchStrategy[str]:
    return CLEAN.filter(lambda text: len(text.encode()) <= longest)


@given(st.sampled_from(CloseCode), short(512))
def test_close(code: CloseCode, reason: str) -> None:
    assert frames.decode_close(frames.encode_close(code, reason)) == (code, reason)


@given(st.sampled_from(ResetCode), short(512))
def test_reset(code: ResetCode, reason: str) -> None:
    assert frames.decode_reset(frames.encode_reset(code, reason)) == (code, reason)


@given(st.sampled_from(ResetCode), st.text())
def test_any_reason_can_be_sent(code: ResetCode, reason: str) -> None:
    payload = frames.encode_reset(code, reason)
    assert len(payload) <= 514
    lone = any("\ud800" <= letter <= "\udfff" for letter in reason)
    assert lone or printable(reason).startswith(frames.decode_reset(payload)[1])


@given(U64)
def test_token(token: int) -> None:
    assert frames.decode_token("PING", frames.encode_token(token)) == token


@given(st.lists(st.tuples(U32, U64)))
def test_ack(entries: list[tuple[int, int]]) -> None:
    assert list(frames.decode_ack(frames.encode_ack(entries))) == entries


@given(st.lists(st.tuples(U32, U64, U64)))
def test_credit(entries: list[tuple[int, int, int]]) -> None:
    assert list(frames.decode_credit(frames.encode_credit(entries))) == entries


@given(short(512))
def test_drain(reason: str) -> None:
    assert frames.decode_drain(frames.encode_drain(reason)) == reason


@given(st.dictionaries(st.integers(0, 63), st.integers(1, 8), max_size=8))
def test_lanes(counts: dict[int, int]) -> None:
    assert frames.decode_lanes(frames.encode_lanes(counts)) == counts


@given(U64)
def test_store(rate: int) -> None:
    assert frames.decode_store(frames.encode_store(rate)) == rate


@given(short(255).filter(bool), short(255))
def test_open(export: str, origin: str) -> None:
    assert frames.decode_open(frames.encode_open(export, origin)) == (export, origin)


@given(U64, st.binary(max_size=1024))
def test_end(total: int, tokens: bytes) -> None:
    assert frames.decode_end(frames.encode_end(total, tokens)) == (total, tokens)


@given(st.lists(FINGERPRINT, min_size=1, max_size=40))
def test_miss(fingerprints: list[bytes]) -> None:
    assert frames.decode_miss(frames.encode_miss(fingerprints)) == tuple(fingerprints)


@given(FINGERPRINT, st.binary(min_size=1, max_size=400), st.integers(1, 1 << 18))
def test_fill(fingerprint: bytes, data: bytes, size: int) -> None:
    assert frames.decode_fill(frames.encode_fill(fingerprint, 0, len(data), data)) == (fingerprint, 0, len(data), data)
    size = max(size, len(data))
    assert frames.decode_fill(frames.encode_fill(fingerprint, 1, size, data)) == (fingerprint, 1, size, data)


@given(U64.filter(bool))
def test_waive(amount: int) -> None:
    assert frames.decode_waive(frames.encode_waive(amount)) == amount


NAMES = short(64).filter(bool)
HELLOS = st.builds(
    Hello,
    site=NAMES,
    peer=NAMES,
    half=st.binary(min_size=16, max_size=16),
    known_half=st.none() | st.binary(min_size=16, max_size=16),
    store=st.binary(min_size=16, max_size=16),
    epochs=st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=16).map(tuple),
    initial_credit=st.integers(1 << 16, 1 << 24),
    streams=st.integers(1, 1 << 16),
    capabilities=st.frozensets(st.integers(0, 65535), max_size=64),
    software=short(128),
    mark=st.integers(0, 63),
    lowest=st.just(1),
    highest=st.integers(1, 65535),
)


@given(HELLOS)
def test_hello(hello: Hello) -> None:
    assert Hello.decode(hello.encode()) == hello


@given(HELLOS, st.data())
def test_a_hello_that_is_cut_or_changed_is_another_one_or_refused(hello: Hello, data: st.DataObject) -> None:
    whole = hello.encode()
    with pytest.raises(PeerError):
        Hello.decode(whole[: data.draw(st.integers(0, whole.index(hello.half)))])
    at = data.draw(st.integers(0, len(whole) - 1))
    parses_or_refuses(Hello.decode, whole[:at] + data.draw(st.binary(max_size=9)) + whole[at + 1 :])


DECODERS: list[Callable[[bytes], object]] = [
    frames.decode_close,
    lambda payload: frames.decode_token("PONG", payload),
    lambda payload: list(frames.decode_ack(payload)),
    lambda payload: list(frames.decode_credit(payload)),
    frames.decode_drain,
    frames.decode_lanes,
    frames.decode_store,
    frames.decode_open,
    frames.decode_accept,
    frames.decode_data,
    frames.decode_end,
    frames.decode_reset,
    frames.decode_miss,
    frames.decode_fill,
    frames.decode_waive,
    Hello.decode,
]


def parses_or_refuses(decode: Callable[[bytes], object], payload: bytes) -> None:
    """The one thing that any input may do."""
    with suppress(PeerError):
        decode(payload)


@pytest.mark.parametrize("decode", DECODERS)
@given(payload=st.binary(max_size=300))
def test_garbage_parses_or_is_refused(decode: Callable[[bytes], object], payload: bytes) -> None:
    parses_or_refuses(decode, payload)


@given(payload=st.binary(max_size=300).map(lambda rest: b"ISTHMUS\0\0\1\0\1" + rest))
def test_garbage_after_the_magic_parses_or_is_refused(payload: bytes) -> None:
    parses_or_refuses(Hello.decode, payload)


HEADERS = st.tuples(st.sampled_from([5, 6, 0x12, 0x16]), U32, U64)
SHORT_FRAMES = st.lists(st.builds(Frame, st.sampled_from([5, 6, 0x12, 0x16]), U32, U64, st.binary(max_size=60)))


def read(pieces: list[bytes]) -> tuple[list[Frame], str]:
    """Frames until the end or an error, of which the words."""
    reader, found = lane_reader(), []
    try:
        for piece in pieces:
            for frame in fed(reader, piece):  # those before an error are found, too
                found.append(frame)
    except PeerError as error:
        return found, str(error)
    return found, ""


@given(st.lists(st.tuples(HEADERS, st.integers(0, 290_000)), max_size=6), st.lists(st.integers(0, 400_000), max_size=8))
def test_frames_come_out_as_they_went_in_whatever_the_pieces(
    sent: list[tuple[tuple[int, int, int], int]], cuts: list[int]
) -> None:
    expected = [Frame(*head, bytes([n & 255]) * size) for n, (head, size) in enumerate(sent)]
    stream = b"".join(encode(*frame) for frame in expected)
    borders = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    found, error = read([stream[start:end] for start, end in pairwise(borders)])
    assert found == expected, "frames differ"
    assert not error


@given(st.binary(max_size=200), SHORT_FRAMES)
def test_garbage_reads_the_same_whole_or_byte_by_byte(garbage: bytes, before: list[Frame]) -> None:
    stream = b"".join(encode(*frame) for frame in before) + garbage
    assert read([stream]) == read([stream[at : at + 1] for at in range(len(stream))])
