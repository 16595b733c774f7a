"""Nothing that others send can move a cursor, break a line or hide a word."""

import pytest

from proxy.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ümläut, 日本 🙂", "plain, ümläut, 日本 🙂"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\r\tc\0", r"a\nb\r\tc\x00"),
        ("\x7f\x9b", r"\x7f\x9b"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("\ud800", r"\ud800"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown
