"""A peer in the text of a file: what is written by hand stays as it is; what cannot be seen through is noticed."""

import tomllib

import pytest

from proxy.setup.peertable import as_meant, with_peer, with_value

TEXT = """\
# ours
[site]
name = "east" # [[peer]]

[[peer]] # the other one
certificate = "west.crt"
  name = "west"
[[peer.schedule]]
rate = "1Mbit"

[[ peer ]]
name = "north"
address = "north.example:4500"

# what comes after
[[forward]]
name = "array"
"""


def test_a_peer_is_added_at_the_end() -> None:
    new = with_peer(TEXT, {"name": "south", "certificate": "south.crt"})
    assert new.startswith(TEXT)
    assert as_meant(TEXT, new, 2, {"name": "south", "certificate": "south.crt"})


def test_a_value_goes_below_the_name() -> None:
    new = with_value(TEXT, 0, "address", "198.18.0.2:4500")
    assert as_meant(TEXT, new, 0, {"address": "198.18.0.2:4500"})
    lines = new.splitlines()
    at = lines.index('address = "198.18.0.2:4500"')
    assert (lines[at - 2], lines[at + 1]) == ('  name = "west"', "[[peer.schedule]]")
    assert [line for line in lines if line not in lines[at - 1 : at + 1]] == TEXT.splitlines()


def test_a_value_is_replaced() -> None:
    new = with_value(TEXT, 1, "address", "198.18.0.3:4500")
    assert new == TEXT.replace("north.example:4500", "198.18.0.3:4500")
    assert as_meant(TEXT, new, 1, {"address": "198.18.0.3:4500"})


@pytest.mark.parametrize(
    "text",
    [
        'peer = [{ name = "west", certificate = "west.crt" }]\n',
        '[site]\nname = """\n[[peer]]\n"""\n[[peer]]\nname = "west"\n',
        '[["peer"]]\nname = "west"\n',
    ],
)
def test_other_ways_to_write_it_are_noticed(text: str) -> None:
    assert tomllib.loads(text)["peer"][0]["name"] == "west"
    assert not as_meant(text, with_value(text, 0, "address", "198.18.0.3:4500"), 0, {"address": "198.18.0.3:4500"})


def test_an_inline_list_of_peers_cannot_be_added_to() -> None:
    text = 'peer = [{ name = "west", certificate = "west.crt" }]\n'
    assert not as_meant(text, with_peer(text, {"name": "south"}), 1, {"name": "south"})
