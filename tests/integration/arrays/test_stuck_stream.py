"""One stream whose far array never reads, beside 31 busy ones: they finish, and then it does, too."""

import threading
from concurrent.futures import ThreadPoolExecutor

from bench.sites import Address
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, Arrival, Sending, acknowledge, receipt, send, whole
from tests.integration.bed.sites import Bed
from tests.patience import PATIENCE

SIZE = 2 << 20
STUCK_SIZE = 32 << 20
"""Much more than the window and the kernels' buffers take."""
BUSY = 31


def test_the_others_finish(bed: Bed) -> None:
    released = threading.Event()

    def refuse_the_first(arrival: Arrival) -> None:
        arrival.data += arrival.connection.recv(1)
        if arrival.data == b"!":
            released.wait(PATIENCE)
        acknowledge(arrival)

    settings = {"window": "4MiB", "memory": "16MiB", "unacked": "8MiB"}
    stuck_content = b"!" + volume("stuck", STUCK_SIZE)
    others = [b"." + volume(f"busy {number}", SIZE) for number in range(BUSY)]
    with (
        Array(refuse_the_first) as array,
        bed.pair(array.address, tunnel=settings).running() as pair,
        ThreadPoolExecutor(BUSY + 1) as threads,
    ):
        stuck = threads.submit(transfer, stuck_content, pair.entrance)
        array.arrival(0)
        results = list(threads.map(lambda content: transfer(content, pair.entrance), others))
        for content, result in zip(others, results, strict=True):
            whole(receipt(content), result)
        assert not stuck.done()
        released.set()
        whole(receipt(stuck_content), stuck.result())


def transfer(content: bytes, entrance: Address) -> Sending:
    return send(cut(content, 1 << 18), entrance)
