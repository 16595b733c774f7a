"""A peer that breaks the protocol and reads nothing more: what is still to be said to it keeps no connection open."""

import socket

from proxy.protocol.codes import FrameType
from proxy.protocol.hello import CREDIT_MAX
from proxy.protocol.reader import header
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array, connect, how_it_ends, torn
from tests.integration.bed.sites import Bed, descriptors
from tests.integration.peers.scripted import hello
from tests.integration.peers.stage import hub, says

OVERDUE = 20.0
"""Seconds. A CLOSE that is unsent after one is given up; TLS alone would wait for the other side for thirty."""


def test_its_descriptors_are_gone_soon(bed: Bed) -> None:
    with Array() as array, hub(bed, array.address) as stage:
        before = descriptors(stage.west)
        with stage.dial() as lane:
            lane.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lane.come_up(hello("rogue", "west", initial_credit=CREDIT_MAX))
            with connect(stage.to_rogue) as near:
                near.sendall(volume("more than it takes", 1 << 20))
                lane.expect(FrameType.OPEN)
                lane.send(header(0x77, 0, 0, 0))
                says(stage.west, "rogue broke the protocol", "0x77")
                torn(b"", how_it_ends(near))
            stage.west.wait_for(lambda: descriptors(stage.west) <= before, "still has its descriptor", OVERDUE)
        stage.still_works(array)
