"""A reset is carried across as a reset, in either direction, and what was delivered before it is an exact prefix."""

import contextlib
import threading
from functools import partial

from bench.sites import Address
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import (
    Array,
    Arrival,
    connect,
    how_it_ends,
    prefix_of,
    receipt,
    reset,
    send,
    swallow,
    torn,
    whole,
)
from tests.integration.bed.sites import Bed, eventually
from tests.patience import PATIENCE

content = partial(volume, "content", 16 << 20)


def test_the_sender_resets(bed: Bed) -> None:
    with Array() as array, bed.pair(array.address).running() as pair:
        near = connect(pair.entrance)
        near.sendall(content())
        reset(near)
        arrival = array.arrival().wait()
        torn(content(), arrival)


def test_the_receiver_resets(bed: Bed) -> None:
    """The sender gets ECONNRESET (or EPIPE), and never an orderly end."""

    def take_some(arrival: Arrival) -> None:
        while len(arrival.data) < 1 << 20:
            arrival.data += arrival.connection.recv(1 << 16)
        reset(arrival.connection)

    with Array(take_some) as array, bed.pair(array.address).running() as pair:
        torn(b"", send(cut(content(), 1 << 16), pair.entrance))
        prefix_of(content(), array.arrival().wait())


def test_the_receiver_resets_while_it_answers(bed: Bed) -> None:
    """What the reader got until the reset is a prefix of the answer."""

    def answer(arrival: Arrival) -> None:
        arrival.connection.sendall(content())
        reset(arrival.connection)

    with Array(answer) as array, bed.pair(array.address).running() as pair, connect(pair.entrance) as near:
        torn(content(), how_it_ends(near))


def test_a_reset_after_half_a_close(bed: Bed) -> None:
    """The sender has ended its side in order; the receiver's reset still comes as one."""

    def read_and_reset(arrival: Arrival) -> None:
        swallow(arrival)
        reset(arrival.connection)

    with Array(read_and_reset) as array, bed.pair(array.address).running() as pair:
        torn(b"", send(cut(content(), 1 << 18), pair.entrance))
        whole(content(), array.arrival().wait())


def test_a_reset_while_the_far_array_does_not_read(bed: Bed) -> None:
    """Nothing moves, so nobody reads the near array's socket either: its reset is noticed all the same."""
    reading = threading.Event()

    def stand_still(arrival: Arrival) -> None:
        reading.wait(PATIENCE)
        swallow(arrival)

    small = {"window": "1MiB", "memory": "2MiB"}
    with Array(stand_still) as array, bed.pair(array.address, tunnel=small).running() as pair:
        near = connect(pair.entrance, 1.0)
        with contextlib.suppress(TimeoutError):
            near.sendall(content())
        reset(near)
        eventually(pair.west, "streams", [])
        reading.set()
        arrival = array.arrival().wait()
        torn(content(), arrival)


def test_connections_that_are_reset_at_once_do_no_harm(bed: Bed) -> None:
    """A port scanner, or an array that changes its mind: the forward goes on, and no stream is left over."""
    with Array() as array, bed.pair(array.address).running() as pair:
        for _ in range(200):
            reset(connect(pair.entrance))
        check(pair.entrance)
        for site in pair.sites:
            eventually(site, "streams", [])


def check(entrance: Address) -> None:
    sending = send(cut(content(), 1 << 18), entrance)
    whole(receipt(content()), sending)
