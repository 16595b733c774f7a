"""Payloads: what each frame may hold, and the sentence that says what is wrong with another one."""

from collections.abc import Callable

import pytest

from proxy.protocol import frames
from proxy.protocol.codes import CloseCode, FrameType, ResetCode
from proxy.protocol.errors import HelloRefused, Misuse, PeerError
from proxy.protocol.reader import Frame

NAME = bytes(range(32))

WRONG = [
    (frames.decode_close, b"\0", "CLOSE broke the protocol: it has no code"),
    (frames.decode_close, b"\0\0", "CLOSE broke the protocol: unknown code 0"),
    (frames.decode_close, b"\0\x09why", "CLOSE broke the protocol: unknown code 9"),
    (frames.decode_close, b"\0\x01\xff", "text is not UTF-8 (invalid start byte at byte 0)"),
    (lambda payload: frames.decode_token("PING", payload), bytes(7), "PING broke the protocol: 7 bytes instead of 8"),
    (frames.decode_ack, bytes(13), "13 bytes are no whole entries"),
    (frames.decode_credit, bytes(19), "19 bytes are no whole entries"),
    (frames.decode_drain, b"a\xc3", "unexpected end of data at byte 1"),
    (frames.decode_open, b"", "the export's name is empty"),
    (frames.decode_open, b"\0\0", "the export's name is empty"),
    (frames.decode_open, b"\x02a", "reaches beyond the end"),
    (frames.decode_open, b"\x01a", "reaches beyond the end"),
    (frames.decode_open, b"\x01a\x01", "the origin does not reach to the end"),
    (frames.decode_open, b"\x01a\x00x", "the origin does not reach to the end"),
    (frames.decode_open, b"\x01\xff\x00", "OPEN broke the protocol: text is not UTF-8"),
    (frames.decode_accept, b"x", "it has a payload"),
    (frames.decode_data, bytes(11), "11 bytes are no batch"),
    (frames.decode_data, bytes(12), "a plain length of 0 bytes"),
    (frames.decode_data, b"\0\x08\0\x01" + bytes(8), "a plain length of 524289 bytes"),
    (frames.decode_data, b"\xff" * 12, "a plain length of 4294967295 bytes"),
    (frames.decode_data, b"\0\0\0\x10" + bytes(271), "a batch of 275 bytes for a plain length of 16"),
    (frames.decode_end, bytes(7), "it has no total"),
    (frames.decode_reset, b"", "RESET broke the protocol: it has no code"),
    (frames.decode_reset, b"\0\x0c", "unknown code 12"),
    (frames.decode_miss, b"", "0 bytes are not 1 to 1024 fingerprints"),
    (frames.decode_miss, bytes(33), "33 bytes are not 1 to 1024 fingerprints"),
    (frames.decode_miss, bytes(32 * 1025), "32800 bytes are not 1 to 1024 fingerprints"),
    (frames.decode_waive, bytes(7), "WAIVE broke the protocol: 7 bytes instead of 8"),
    (frames.decode_waive, bytes(8), "it waives nothing"),
    (frames.decode_fill, bytes(36), "36 bytes have no room for its fields"),
    (frames.decode_fill, NAME + b"\x02" + bytes(4), "unknown codec 2"),
    (frames.decode_fill, NAME + b"\x01\0\x04\0\x01", "a chunk of 262145 bytes"),
    (frames.decode_fill, NAME + b"\0\0\0\0\x02x", "1 bytes of data for a size of 2"),
    (frames.decode_fill, NAME + b"\x01\0\0\0\0", "0 bytes of data for a size of 0"),
    (frames.decode_fill, NAME + b"\x01\0\0\0\x01" + bytes(258), "258 bytes of data for a size of 1"),
]


@pytest.mark.parametrize(("decode", "payload", "sentence"), WRONG)
def test_what_is_wrong_is_said(decode: Callable[[bytes], object], payload: bytes, sentence: str) -> None:
    with pytest.raises(PeerError) as caught:
        decode(payload)
    assert sentence in str(caught.value)


def test_limits_of_a_batch() -> None:
    assert frames.decode_data(b"\0\0\0\x10" + bytes(270)) == 16
    assert frames.decode_data(b"\0\x08\0\0" + bytes(590076)) == 524288
    assert frames.decode_data(b"\0\0\0\x01" + bytes(8)) == 1


def test_a_chunk_that_is_gone() -> None:
    assert frames.decode_fill(frames.encode_fill(NAME, 0, 0, b"")) == (NAME, 0, 0, b"")


def test_hostile_text_is_made_fit_for_a_log() -> None:
    payload = frames.encode_reset(ResetCode.INTERNAL, "line\nbreak \x1b[2J")
    assert frames.decode_reset(payload) == (ResetCode.INTERNAL, "line\\nbreak \\x1b[2J")
    assert frames.decode_open(frames.encode_open("a\rb", "\x00")) == ("a\\rb", "\\x00")


def test_long_reasons_are_cut_at_a_character() -> None:
    code, reason = frames.decode_close(frames.encode_close(CloseCode.SURPLUS, "x" + "é" * 400))
    assert (code, reason) == (CloseCode.SURPLUS, "x" + "é" * 255)


def test_reasons_that_are_no_unicode_can_be_sent() -> None:
    assert frames.decode_drain(frames.encode_drain("a\udcff")) == "a?"


@pytest.mark.parametrize("export", ["", "x" * 256, "é" * 128])
def test_names_of_exports_are_not_cut(export: str) -> None:
    with pytest.raises(Misuse, match="1 to 255 bytes"):
        frames.encode_open(export, "")


@pytest.mark.parametrize("names", [[], [NAME] * 1025, [b"short"]])
def test_misses_that_cannot_be(names: list[bytes]) -> None:
    with pytest.raises(Misuse, match="1 to 1024 fingerprints of 32 bytes"):
        frames.encode_miss(names)


@pytest.mark.parametrize(("name", "codec", "size", "data"), [(b"", 0, 1, b"x"), (NAME, 2, 1, b"x"), (NAME, 0, 2, b"x")])
def test_fills_that_the_peer_would_refuse(name: bytes, codec: int, size: int, data: bytes) -> None:
    with pytest.raises(Misuse):
        frames.encode_fill(name, codec, size, data)


def test_errors_name_the_frame() -> None:
    assert str(PeerError.of(Frame(FrameType.DATA, 5, 17, b""), "why")) == "DATA 17 of stream 5 broke the protocol: why"
    assert str(PeerError.of(Frame(FrameType.PING, 0, 0, b""), "why")) == "PING broke the protocol: why"
    assert str(PeerError.of(Frame(0x77, 1, 2, b""), "no")) == "frame of type 0x77 2 of stream 1 broke the protocol: no"


def test_refusals_read_as_their_reason() -> None:
    assert str(HelloRefused(CloseCode.VERSION, "too old")) == "too old"
