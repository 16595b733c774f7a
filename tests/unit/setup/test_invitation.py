"""The line that one site gives the other: any site comes out as it went in, any other line is refused with words."""

import base64
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy import identity
from proxy.config.addresses import Address, parse_address
from proxy.errors import ExitCode, OperatorError
from proxy.setup.invitation import LARGEST, SUM_BYTES, Invitation, decode, encode

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}(\.[A-Za-z0-9_-]{1,20}){0,2}", fullmatch=True)
ADDRESSES = st.none() | st.builds(
    Address, st.sampled_from(["198.18.0.1", "2001:db8::1", "west.example"]), st.integers(1, 65535)
)
INVITATIONS = st.builds(Invitation, NAMES, ADDRESSES, st.binary(max_size=600))
LINE = encode(Invitation("east", parse_address("198.18.0.1:4500"), bytes(range(50))))


@given(INVITATIONS)
def test_what_goes_in_comes_out(invitation: Invitation) -> None:
    assert decode(encode(invitation)) == invitation


@given(st.data())
def test_every_change_of_a_character_is_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LINE) - 1))
    other = data.draw(st.sampled_from(ALPHABET).filter(lambda letter: letter != LINE[at]))
    refused(LINE[:at] + other + LINE[at + 1 :])


@pytest.mark.parametrize("length", range(len(LINE)))
def test_every_cut_is_found(length: int) -> None:
    refused(LINE[:length])


@given(st.text(max_size=80) | st.text(alphabet=ALPHABET + ":", max_size=80))
def test_anything_else_is_refused_in_one_printable_line(text: str) -> None:
    assert refused(text).isprintable()


def test_white_space_from_a_mail_does_not_matter() -> None:
    assert decode(f" {LINE[:30]}\n  {LINE[30:]}\n") == decode(LINE)


@pytest.mark.parametrize("file", ["west.toml", "sites/WEST.toml", ""])
def test_the_whole_command_that_was_printed_is_a_line_as_well(file: str) -> None:
    """It was said to be cut or changed, and to be copied again."""
    assert decode(f" isthmus pair {LINE[:30]}\n{LINE[30:]} {file}\n") == decode(LINE)


def test_a_line_of_another_version() -> None:
    body = b"\2" + bytes(40)
    checked = body + hashlib.sha256(b"east:" + body).digest()[:SUM_BYTES]
    line = f"east:{base64.urlsafe_b64encode(checked).decode().rstrip('=')}"
    assert "it is of version 2, which this release does not know" in refused(line)


def test_a_long_line() -> None:
    refused("east:" + "A" * LARGEST)


def test_a_line_of_a_real_site_is_short_and_no_shell_minds_it(tmp_path: Path) -> None:
    made = identity.generate("east", tmp_path)
    line = encode(Invitation("east", parse_address("[2001:db8::1]:4500"), identity.read_der(made.certificate_path)))
    assert len(line) < 700
    assert set(line) <= set(ALPHABET + ":")
    assert decode(line).facts == made.certificate


def refused(line: str) -> str:
    with pytest.raises(OperatorError) as caught:
        decode(line)
    assert caught.value.code == ExitCode.USAGE
    assert "cannot be used" in caught.value.message
    return caught.value.message
