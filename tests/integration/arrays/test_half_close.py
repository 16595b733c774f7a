"""An array may end its side and go on listening: the end is carried across, behind all data, in either direction."""

from bench.sites import Address
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import END, Array, Arrival, connect, how_it_ends, receipt, send, swallow, whole
from tests.integration.bed.sites import Bed

SIZE = 8 << 20


def test_the_sender_ends_first(bed: Bed) -> None:
    """The far array sees the end, and its long answer still comes back."""
    question, answer = volume("question", SIZE), volume("answer", SIZE)

    def respond(arrival: Arrival) -> None:
        swallow(arrival)
        arrival.connection.sendall(answer)

    with Array(respond) as array, bed.pair(array.address).running() as pair:
        sending = send(cut(question, 1 << 18), pair.entrance)
        whole(question, array.arrival().wait())
        whole(answer, sending)


def test_the_receiver_ends_first(bed: Bed) -> None:
    """The near array sees the end with all data before it, and may go on sending."""
    content, greeting = volume("content", SIZE), volume("greeting", SIZE)

    def greet(arrival: Arrival) -> None:
        arrival.connection.sendall(greeting)
        arrival.connection.shutdown(1)
        swallow(arrival)

    with Array(greet) as array, bed.pair(array.address).running() as pair:
        with connect(pair.entrance) as near:
            whole(greeting, how_it_ends(near))
            for write in cut(content, 1 << 18):
                near.sendall(write)
        arrival = array.arrival().wait()
        whole(content, arrival)


def test_an_end_without_any_data(bed: Bed) -> None:
    """Nothing at all is sent: both ends are still seen."""
    with Array() as array, bed.pair(array.address).running() as pair:
        sending = send([], pair.entrance)
        assert array.arrival().wait().ended == END
        whole(receipt(b""), sending)


def test_both_directions_of_the_pair(bed: Bed) -> None:
    """What east forwards and what west forwards at the same time ends in order on both sides."""
    with Array() as far, Array() as near, bed.pair(far.address, near.address).running() as pair:
        for at, entrance in enumerate((pair.entrance, pair.back)):
            check(entrance, (far, near)[at], volume(f"way {at}", SIZE))


def check(entrance: Address, array: Array, content: bytes) -> None:
    sending = send(cut(content, 100_000), entrance)
    whole(content, array.arrival().wait())
    whole(receipt(content), sending)
