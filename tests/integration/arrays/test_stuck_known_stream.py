"""One stream of known data whose far array never reads: others of that peer, of new data, go on beside it."""

import threading
from concurrent.futures import ThreadPoolExecutor

from bench.sites import Address
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, Sending, receipt, send, unless_marked, whole
from tests.integration.bed.sites import Bed
from tests.integration.bed.verdicts import limited_by
from tests.patience import PATIENCE

SIZE = 24 << 20


def test_others_go_on(bed: Bed) -> None:
    released = threading.Event()
    content = volume("known", SIZE)
    new = b"." + volume("new", 1 << 20)
    with (
        Array(unless_marked(released)) as array,
        bed.pair(array.address).running() as pair,
        ThreadPoolExecutor(3) as threads,
    ):
        whole(receipt(b"." + content), transfer(b"." + content, pair.entrance))
        stuck = threads.submit(transfer, b"!" + content + content, pair.entrance)
        try:
            limited_by(pair.east, "far array")
            assert not stuck.done()
            result = threads.submit(transfer, new, pair.entrance).result(PATIENCE)
        finally:
            released.set()
        whole(receipt(new), result)
        whole(receipt(b"!" + content + content), stuck.result())


def transfer(content: bytes, entrance: Address) -> Sending:
    return send(cut(content, 1 << 18), entrance)
