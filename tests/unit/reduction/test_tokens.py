"""Each token's layout byte by byte, and each way in which tokens can be wrong."""

import pytest

from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import (
    LEARN,
    LITERAL,
    MORE,
    REFERENCE,
    SLICE,
    learn_token,
    literal_token,
    more_token,
    pack,
    parse,
    reference_token,
    run_token,
    slice_token,
    unpack,
    varint,
)

NAME = bytes(range(32))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16383, "ff7f"),
        (16384, "808001"),
        (2**32 - 1, "ffffffff0f"),
    ],
)
def test_varints_are_leb128(value: int, encoded: str) -> None:
    assert varint(value).hex() == encoded


@pytest.mark.parametrize(
    ("encoded", "layout", "parsed"),
    [
        (literal_token(300), "01 ac02", (LITERAL, 300, 0, b"")),
        (reference_token(NAME), "02" + NAME.hex(), (REFERENCE, 0, 0, NAME)),
        (learn_token(5, NAME), "03 05 0001020304050607", (LEARN, 5, 0, NAME[:8])),
        (slice_token(NAME, 0, 9), f"04 {NAME.hex()} 00 09", (SLICE, 9, 0, NAME)),
        (slice_token(NAME, 128, 1), f"04 {NAME.hex()} 8001 01", (SLICE, 1, 128, NAME)),
        (more_token(64), "05 40", (MORE, 64, 0, b"")),
    ],
    ids=["literal", "reference", "learn", "slice", "slice at an offset", "more"],
)
def test_a_tokens_layout(encoded: bytes, layout: str, parsed: tuple[int, int, int, bytes]) -> None:
    assert encoded == bytes.fromhex(layout)
    assert parse(encoded) == [parsed]
    assert parse(encoded + encoded) == [parsed, parsed]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("00", "unknown token 0 at offset 0"),
        ("07", "unknown token 7 at offset 0"),
        ("0101 ff 05", "unknown token 255 at offset 2"),
        ("0100", "token 1 at offset 0 counts no bytes"),
        ("0101 0300 0001020304050607", "token 3 at offset 2 counts no bytes"),
        ("04" + "00" * 32 + "00 00", "token 4 at offset 0 counts no bytes"),
        ("0500", "token 5 at offset 0 counts no bytes"),
        ("0602" + "00" * 32, "RUN of 2 chunks at offset 0 is too short, or behind no REFERENCE"),
        ("0101 0602" + "00" * 32, "RUN of 2 chunks at offset 2 is too short, or behind no REFERENCE"),
        ("02" + "00" * 32 + "0602" + "00" * 32 + "0602" + "00" * 32, "RUN of 2 chunks at offset 67 is too short"),
        ("02" + "00" * 32 + "0601" + "00" * 32, "RUN of 1 chunks at offset 33 is too short"),
        ("02" + "00" * 32 + "0600" + "00" * 32, "token 6 at offset 33 counts no bytes"),
        ("02" + "00" * 32 + "0602" + "00" * 31, "token cut short at offset 35"),
        ("01", "varint cut short or too long at offset 1"),
        ("0180", "varint cut short or too long at offset 1"),
        ("018080808080", "varint cut short or too long at offset 1"),
        ("01808080808001", "varint cut short or too long at offset 1"),
        ("018000", "not in shortest form at offset 1"),
        ("01ff00", "not in shortest form at offset 1"),
        ("01ffffffff10", "out of range"),
        ("01ffffffff7f", "out of range"),
        ("02" + "00" * 31, "token cut short at offset 1"),
        ("0301 00010203040506", "token cut short at offset 2"),
        ("04" + "00" * 32 + "01", "varint cut short or too long at offset 34"),
    ],
)
def test_what_is_no_token_is_refused_with_its_place(data: str, complaint: str) -> None:
    with pytest.raises(BatchError, match=complaint):
        parse(bytes.fromhex(data))


def test_no_tokens_are_no_tokens() -> None:
    assert parse(b"") == []


def test_what_is_packed_is_the_same_again() -> None:
    largest = 2**32 - 1
    written = literal_token(largest), reference_token(NAME), run_token(largest, NAME), learn_token(largest, NAME)
    tokens = parse(b"".join((*written, slice_token(NAME, largest, largest), more_token(1))))
    assert unpack(pack(tokens)) == tokens
    assert unpack(pack(tokens[2:])) == tokens[2:]
    assert unpack(pack([])) == []
