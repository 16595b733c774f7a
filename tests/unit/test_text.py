"""Nothing that others send can move a cursor, break a line or hide a word; what is left of a time."""

import pytest

from proxy.text import introduced, printable


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


@pytest.mark.parametrize(
    ("subject", "words", "shown"),
    [
        ("peer west", "there is no tunnel to west: reset by peer", "there is no tunnel to west: reset by peer"),
        ("peer west", "the line goes to west.", "the line goes to west."),
        ("peer west", "there is no tunnel to westend", "peer west: there is no tunnel to westend"),
        ("peer b.c", "the tunnel to b.c is up", "the tunnel to b.c is up"),
        ("lane 1 of peer west", "nothing is heard on it", "lane 1 of peer west: nothing is heard on it"),
        ("forward a to west", "a rate to west held data back", "forward a to west: a rate to west held data back"),
        ("store", "2 chunks of the store failed", "2 chunks of the store failed"),
        ("store", "the disk is full", "store: the disk is full"),
    ],
)
def test_what_words_are_about_is_told_once(subject: str, words: str, shown: str) -> None:
    assert introduced(subject, words) == shown
