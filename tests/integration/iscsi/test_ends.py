"""Half-closes, resets and a target that is down, in iSCSI connections: rows 35 and 36 of the faults to survive.

An end may come anywhere: between PDUs, in a header, in data that a header has announced. All that was sent before it
arrives, no byte more, and the other direction goes on.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bench.initiator.pdu import HEADER_BYTES
from bench.overiscsi.conversation import Conversation
from bench.sites import Address, free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import (
    END,
    OPEN,
    READ_BYTES,
    Array,
    Arrival,
    Behaviour,
    connect,
    hears,
    how_dialling_ends,
    how_it_ends,
    prefix_of,
    reset,
    send,
    swallow,
    torn,
    whole,
)
from tests.integration.iscsi.stage import forwarded

SIZE, PIECE = 4 << 20, 256 << 10
CONVERSATION = Conversation(pdu=8192, command=PIECE)
LOGIN, *_ = CONVERSATION.ahead(memoryview(b""))
ANSWERS = list(CONVERSATION.back(SIZE))
BACK = b"".join(ANSWERS)
COMMAND = len(b"".join(CONVERSATION.ahead(memoryview(bytes(8 * PIECE)))))
"""Where a command in the middle begins."""
PLACES = {
    "between PDUs": COMMAND,
    "in a header": COMMAND + 20,
    "after a header": COMMAND + 2 * HEADER_BYTES,
    "in data": COMMAND + 2 * HEADER_BYTES + 5001,
    "in the login": 100,
    "in the first header": 7,
}
GREETING = b"220 this is no target\r\n"


@cache
def ahead() -> bytes:
    """All that the initiator says."""
    return b"".join(CONVERSATION.ahead(memoryview(volume("content", SIZE))))


class Target(Array):
    """What stands behind the forwards: its behaviour can be changed between tests."""

    def __init__(self) -> None:
        super().__init__(self._behave)
        self.behave: Behaviour = swallow
        self.ways: dict[str, Address] = {}

    @property
    def last(self) -> Arrival:
        """The last connection, once it is over."""
        return self.arrivals[-1].wait()

    def _behave(self, arrival: Arrival) -> None:
        self.behave(arrival)


@pytest.fixture(scope="module")
def target(directory: Path) -> Iterator[Target]:
    with Target() as target, forwarded(directory, target.address) as (_, _, target.ways):
        yield target


@pytest.mark.parametrize("place", PLACES)
def test_the_initiator_ends_its_side(target: Target, protocol: str, place: str) -> None:
    """The target sees the end behind all bytes; all that it says then still comes."""

    def answer_in_the_end(arrival: Arrival) -> None:
        swallow(arrival)
        arrival.connection.sendall(BACK)

    target.behave = answer_in_the_end
    sending = send(cut(ahead()[: PLACES[place]], 3000), target.ways[protocol])
    whole(BACK, sending)
    whole(ahead()[: PLACES[place]], target.last)
    assert target.last.ended == END


@pytest.mark.parametrize("part", [len(BACK), len(BACK) - 20, len(ANSWERS[0]) - 5])
def test_the_target_ends_its_side(target: Target, protocol: str, part: int) -> None:
    """After all its answers, in a header, in the login's text; the initiator's data still arrives."""

    def answer_and_read_on(arrival: Arrival) -> None:
        arrival.data += arrival.connection.recv(len(LOGIN))
        arrival.connection.sendall(BACK[:part])
        arrival.connection.shutdown(1)
        swallow(arrival)

    target.behave = answer_and_read_on
    with connect(target.ways[protocol]) as near:
        near.sendall(LOGIN)
        whole(BACK[:part], how_it_ends(near))
        near.sendall(ahead()[len(LOGIN) :])
    whole(ahead(), target.last)


@pytest.mark.parametrize("place", PLACES)
def test_the_initiator_resets(target: Target, protocol: str, place: str) -> None:
    target.behave = swallow
    before = len(target.arrivals)
    near = connect(target.ways[protocol])
    near.sendall(ahead()[: PLACES[place]])
    arrival = target.arrival(before)
    reset(near)
    torn(ahead(), arrival.wait())


def test_the_target_resets(target: Target, protocol: str) -> None:
    """In the middle of data: the initiator sees a reset, and of the answers a prefix."""

    def reset_in_the_middle(arrival: Arrival) -> None:
        while len(arrival.data) < PLACES["in data"]:
            arrival.data += arrival.connection.recv(1000)
        arrival.connection.sendall(BACK[:200])
        reset(arrival.connection)

    target.behave = reset_in_the_middle
    sending = send(cut(ahead(), 100_000), target.ways[protocol])
    torn(BACK, sending)
    prefix_of(ahead(), target.last)


def test_a_target_that_speaks_first(target: Target, protocol: str) -> None:
    """It is none; its words come at once, and everything else goes through as well."""

    def greet(arrival: Arrival) -> None:
        arrival.connection.sendall(GREETING)
        while part := arrival.connection.recv(READ_BYTES):
            arrival.connection.sendall(part)

    target.behave = greet
    with connect(target.ways[protocol]) as near:
        hears(near, GREETING)
        for size in (1, 30, 47, 48, 49, 5000):
            text = volume(f"text {size}", size)
            near.sendall(text)
            hears(near, text)


def test_a_byte_at_a_time(target: Target, protocol: str) -> None:
    """A login whose bytes come one by one arrives as it was, and so does its answer."""

    def answer_the_login(arrival: Arrival) -> None:
        while len(arrival.data) < len(LOGIN):
            arrival.data += arrival.connection.recv(READ_BYTES)
        for at in range(len(ANSWERS[0])):
            arrival.connection.sendall(ANSWERS[0][at : at + 1])

    target.behave = answer_the_login
    with connect(target.ways[protocol]) as near:
        for at in range(len(LOGIN)):
            near.sendall(LOGIN[at : at + 1])
        whole(ANSWERS[0], how_it_ends(near))
    whole(LOGIN, target.last, OPEN)


def test_a_target_that_is_down(directory: Path) -> None:
    """The initiator's connection is reset, whatever it has sent by then; once there is a target, all is well."""
    (directory / "down").mkdir()
    address = ("127.0.0.1", free_port())
    with forwarded(directory / "down", address) as (_, _, ways):
        for way in ways.values():
            torn(b"", how_dialling_ends(way))
            torn(b"", send(cut(ahead(), 100_000), way))
        with Array(address=address) as array:
            for way in ways.values():
                assert send(cut(ahead(), 100_000), way).ended == END
                whole(ahead(), array.arrivals[-1].wait())
