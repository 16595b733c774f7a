"""The arrays limit: the source sends little or nothing, the far array takes little or nothing. Both sites say so."""

import threading
import time

import pytest

from tests.integration.bed.ends import Array, Arrival, connect, swallow
from tests.integration.bed.sites import Bed
from tests.integration.bed.verdicts import limited_by, pouring


def test_nothing_is_connected(bed: Bed) -> None:
    with Array() as array, bed.pair(array.address).running() as pair:
        for site in pair.sites:
            assert site.status()["peers"][0]["verdict"] == {
                "limit": "source idle",
                "share": 1.0,
                "words": "no array is connected",
            }


def test_the_source_is_silent(bed: Bed) -> None:
    with Array() as array, bed.pair(array.address).running() as pair, connect(pair.entrance) as near:
        near.sendall(b"hello")
        for site in pair.sites:
            stream = limited_by(site, "source idle", words="nothing came")
            assert stream["waiting_seconds"]["source"] > 0


def test_the_source_sends_little(bed: Bed) -> None:
    """The near site sees its array pause; the far one, that nothing comes from the near one."""
    enough = threading.Event()

    def trickle() -> None:
        with connect(pair.entrance) as near:
            while not enough.is_set():
                near.sendall(bytes(100))
                time.sleep(0.02)

    with Array(swallow) as array, bed.pair(array.address).running() as pair:
        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        try:
            limited_by(pair.east, "source idle")
            limited_by(pair.west, "other site", words="east sent nothing for")
        finally:
            enough.set()
            thread.join()


@pytest.mark.parametrize("pause", [60.0, 0.005], ids=["not at all", "slowly"])
def test_the_far_array_reads(bed: Bed, pause: float) -> None:
    over = threading.Event()

    def read(arrival: Arrival) -> None:
        while arrival.connection.recv(16 << 10) and not over.wait(pause):
            pass

    with Array(read, receive_buffer=64 << 10) as array, bed.pair(array.address).running() as pair:
        with pouring(pair.entrance):
            stream = limited_by(pair.east, "far array", words="the far array takes ")
            assert stream["waiting_seconds"]["far_array"] > 0
            stream = limited_by(pair.west, "far array", words="the array here takes ")
            assert stream["waiting_seconds"]["array"] > 0
        over.set()
