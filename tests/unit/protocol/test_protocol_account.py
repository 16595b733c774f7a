"""The streams of one share: whose turn is next."""

from types import SimpleNamespace
from typing import Any

from proxy.protocol.account import Account
from proxy.protocol.share import PLAIN


def test_whose_turn_is_next_is_told_as_well_when_a_stream_has_gone() -> None:
    account = Account(PLAIN)
    turns = [1.0, 5.0, 2.0, 6.0, 7.0, 3.0, 4.0]
    streams: list[Any] = [SimpleNamespace(number=number, turn=turn, frame=0.0) for number, turn in enumerate(turns)]
    for stream in streams:
        account.add_bulk(stream)
    account.remove(streams[0])
    told = []
    while account.waits:
        told.append(account.bulk[0][2].turn)
        account.pop_bulk()
    assert told == sorted(turns[1:])
