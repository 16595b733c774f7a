"""SIGTERM, or the peer is removed, while the other side has a HELLO and has not answered yet: the lane may be up
there, so it is told.

Otherwise it came up here while the site was taken down, and ended without a word: an outage to the other side, whose
streams, if it had any left, waited for their grace to be over.
"""

import signal
import threading

from bench.sites import free_port
from proxy.protocol.codes import CloseCode, FrameType
from tests.certificates import make
from tests.integration.bed.sites import Bed, without_peer
from tests.integration.peers.scripted import Answerer, ScriptedLane, context
from tests.integration.peers.stage import messages
from tests.patience import PATIENCE


class Silent:
    """West, which is sent HELLOs and answers none; what it is told instead."""

    def __init__(self, bed: Bed) -> None:
        make(bed.directory / "west", "west", days=(-1, 400))
        self.answerer = Answerer(context(bed.directory / "west", answering=True), self._listen)
        self.greeted, self.told = threading.Event(), threading.Event()
        self.heard = list[tuple[CloseCode, str]]()

    def _listen(self, lane: ScriptedLane) -> None:
        lane.expect(FrameType.HELLO)
        self.greeted.set()
        self.heard.append(lane.close_of())
        self.told.set()

    def was_told(self, reason: str) -> bool:
        """On each lane, and nothing else."""
        return bool(self.heard) and set(self.heard) == {(CloseCode.SHUTDOWN, reason)}


def test_the_other_side_is_told(bed: Bed) -> None:
    silent = Silent(bed)
    with silent.answerer as west:
        east = bed.site("east", {"west": west.address})
        east.start()
        east.wait_ready()
        assert silent.greeted.wait(PATIENCE)
        east.signal(signal.SIGTERM)
        assert east.stop() == 0
    assert silent.was_told("the site stops"), (silent.heard, west.failures)
    assert not any("is up" in message for message in messages(east))


def test_who_is_removed_meanwhile_is_told_that(bed: Bed) -> None:
    silent = Silent(bed)
    with silent.answerer as west:
        east = bed.site("east", {"west": west.address, "north": ("127.0.0.1", free_port())})
        east.start()
        east.wait_ready()
        assert silent.greeted.wait(PATIENCE)
        east.config.write_text(without_peer("west", east.config.read_text()))
        east.signal(signal.SIGHUP)
        assert silent.told.wait(PATIENCE)
    assert silent.was_told("east has west in its file no more"), (silent.heard, west.failures)
    assert not any("is up" in message for message in messages(east))
