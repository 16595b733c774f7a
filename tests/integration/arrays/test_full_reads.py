"""An array that asks as much as one read takes, and waits for the answer, beside busy ones that take turns with it.

What fills a read looks as if more followed; that nothing does is only seen when the array has had its turn again.
"""

import os
import threading

from bench.sites import Address
from tests.integration.bed.ends import Array, Arrival, connect, hears
from tests.integration.bed.sites import Bed
from tests.patience import PATIENCE

QUESTION = 64 << 10
BUSY = 6
QUESTIONS = 60


def answer(arrival: Arrival) -> None:
    """A byte for each question; busy connections are only read."""
    connection = arrival.connection
    busy = connection.recv(1) == b"!"
    room, got = memoryview(bytearray(1 << 20)), 1
    while count := connection.recv_into(room):
        got += count
        if not busy and got % QUESTION == 0:
            connection.sendall(b"k")


def keep_busy(address: Address, over: threading.Event) -> None:
    content = os.urandom(8 << 20)
    with connect(address) as connection:
        connection.sendall(b"!")
        while not over.is_set():
            connection.sendall(content)


def test_each_question_is_answered(bed: Bed) -> None:
    over = threading.Event()
    with Array(answer) as array, bed.pair(array.address).running() as pair:
        busy = [threading.Thread(target=keep_busy, args=(pair.entrance, over), daemon=True) for _ in range(BUSY)]
        for thread in busy:
            thread.start()
        array.arrival(BUSY - 1)
        try:
            with connect(pair.entrance, PATIENCE) as asker:
                for _ in range(QUESTIONS):
                    asker.sendall(b"." * QUESTION)
                    hears(asker, b"k")
        finally:
            over.set()
            for thread in busy:
                thread.join(PATIENCE)
