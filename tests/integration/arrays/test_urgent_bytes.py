"""Bytes that an array sends as urgent are bytes of its stream like all others: none is missing, in either direction."""

import socket

from tests.integration.bed.ends import END, Array, Arrival, connect, how_it_ends, swallow, whole
from tests.integration.bed.sites import Bed

PARTS = ((b"one", 0), (b"X", socket.MSG_OOB), (b"Y", socket.MSG_OOB), (b"two", 0), (b"Z", socket.MSG_OOB))
SENT = b"".join(part for part, _ in PARTS)


def speak(connection: socket.socket) -> None:
    """The last byte of each send with the flag is urgent; two of them may wait to be read at once."""
    for part, flags in PARTS:
        connection.send(part, flags)
    connection.shutdown(socket.SHUT_WR)


def test_urgent_bytes_arrive_in_their_place(bed: Bed) -> None:
    def answer(arrival: Arrival) -> None:
        speak(arrival.connection)
        swallow(arrival)

    with Array(answer) as array, bed.pair(array.address).running() as pair:
        with connect(pair.entrance) as near:
            speak(near)
            whole(SENT, how_it_ends(near))
        arrival = array.arrival().wait()
        whole(SENT, arrival)
        assert arrival.ended == END
