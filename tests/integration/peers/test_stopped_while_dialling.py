"""SIGTERM while the other side has a HELLO and has not answered yet: the lane may be up there, so it is told.

Otherwise it came up here while the site was taken down, and ended without a word: an outage to the other side, whose
streams, if it had any left, waited for their grace to be over.
"""

import signal
import threading

from proxy.protocol.codes import CloseCode, FrameType
from tests.certificates import make
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import Answerer, ScriptedLane, context
from tests.integration.peers.stage import messages
from tests.patience import PATIENCE


def test_the_other_side_is_told(bed: Bed) -> None:
    make(bed.directory / "west", "west", days=(-1, 400))
    greeted, heard = threading.Event(), list[tuple[CloseCode, str]]()

    def listen(lane: ScriptedLane) -> None:
        lane.expect(FrameType.HELLO)
        greeted.set()
        heard.append(lane.close_of())

    with Answerer(context(bed.directory / "west", answering=True), listen) as west:
        east = bed.site("east", {"west": west.address})
        east.start()
        east.wait_ready()
        assert greeted.wait(PATIENCE)
        east.signal(signal.SIGTERM)
        assert east.stop() == 0
    assert heard == [(CloseCode.SHUTDOWN, "the site stops")] * len(heard)
    assert heard, west.failures
    assert not any("is up" in message for message in messages(east))
