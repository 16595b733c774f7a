"""A peer that has ended in order, and is back, but one side refuses the other: as after an upgrade that went wrong.

That is an outage, and no end in order any more, which would be given ten minutes.
"""

import ssl
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.reader import encode
from tests.certificates import make
from tests.integration.bed.ends import Array
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import Answerer, ScriptedLane, asking, context, hello
from tests.integration.peers.stage import hub, peer_of, says

MINE = hello("rogue", "west")
ENDED = encode(FrameType.CLOSE, 0, 0, CloseCode.SHUTDOWN.to_bytes(2, "big"), b"the site shuts down")


def test_a_peer_that_has_ended_in_order_and_is_refused_since_is_back(bed: Bed) -> None:
    """As after an upgrade that went wrong: that is an outage, and no end in order any more."""
    with Array() as array, hub(bed, array.address) as stage:
        with stage.dial() as lane:
            lane.come_up(MINE)
            lane.send(ENDED)
            lane.ending()
        stage.west.wait_for(lambda: peer_of(stage.west, "rogue")["ended_seconds"] is not None, "does not tell the end")
        with stage.dial() as lane:
            lane.greet(replace(MINE, lowest=2, highest=3))
            assert lane.close_of()[0] == CloseCode.VERSION
        stage.west.wait_for(lambda: peer_of(stage.west, "rogue")["ended_seconds"] is None, "says that it is away")


def end(lane: ScriptedLane) -> None:
    """As west: come up, and end in order."""
    lane.answer("west")
    lane.send(ENDED)
    lane.ending()


def back_and_refused(bed: Bed, west: Answerer, change: Callable[[], None], words: str) -> None:
    """East, which dials west, is told of its end in order; after the change, of the refusal, and of no end any more."""
    east = bed.site("east", {"west": west.address})
    east.start()
    says(east, "west has ended in order")
    change()
    says(east, words)
    east.wait_for(lambda: peer_of(east, "west")["ended_seconds"] is None, "says that it is away")
    assert east.stop() == 0


def test_a_peer_that_has_ended_in_order_and_refuses_since_is_back(bed: Bed) -> None:
    make(bed.directory / "west", "west")
    refusal = encode(FrameType.CLOSE, 0, 0, CloseCode.VERSION.to_bytes(2, "big"), b"no common version")
    released = threading.Event()

    def answer(lane: ScriptedLane) -> None:
        if released.is_set():
            lane.expect(FrameType.HELLO)
            lane.send(refusal)
            lane.ending()
        else:
            end(lane)

    with Answerer(context(bed.directory / "west", answering=True), answer) as west:
        back_and_refused(bed, west, released.set, "refused by the other side: no common version")


TLS: dict[str, tuple[Callable[[Bed], ssl.SSLContext], str]] = {
    "another certificate": (
        lambda bed: context(bed.directory / "other", answering=True),
        "its certificate is refused: self-signed certificate, and none that this site's file names",
    ),
    "the certificate of this very site": (
        lambda bed: context(bed.directory / "east", answering=True),
        "the certificate is this site's own: the way there leads back here",
    ),
    "it does not take ours": (
        lambda bed: asking(bed.directory / "west", bed.directory / "west.crt"),
        "the other side refuses our certificate: unknown ca",
    ),
}


@pytest.mark.parametrize("what", TLS)
def test_in_tls(bed: Bed, what: str) -> None:
    make(bed.directory / "west", "west")
    make(bed.directory / "other", "west")
    made, words = TLS[what]
    with Answerer(context(bed.directory / "west", answering=True), end) as west:

        def change() -> None:
            west.tls = made(bed)

        back_and_refused(bed, west, change, words)
