"""Connections that say nothing are closed: when too many wait, the oldest of the host that has most of them at once,
the others within ten seconds.

Neither they, nor peers that show their certificate and then fall silent, keep a real peer out; nothing is left of them.
"""

import contextlib
import re
import selectors
import socket
import time

import pytest

from bench.sites import Address, Site
from proxy.net.door import PENDING_MAX
from proxy.protocol.codes import CloseCode
from tests.integration.bed.ends import Array
from tests.integration.bed.sites import Bed, descriptors, drain
from tests.integration.peers.scripted import ScriptedLane, context, dial, hello
from tests.integration.peers.stage import listening, messages, watch_memory
from tests.patience import PATIENCE

SILENT = 300
OVERDUE = 40.0
"""Seconds after which a site has forgotten its limit of ten."""


def wait_until_closed(connections: list[socket.socket], seconds: float = PATIENCE) -> int:
    """Wait for the other side to end all of them; how many it has not."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(0.5):
                selector.unregister(key.fileobj)
        return len(selector.get_map())


def driven_out(site: Site) -> list[int]:
    """Ports of those that others had to make way for, in the order in which they went."""
    found = [re.match(r"connection from .*:(\d+) refused: .* wait before the door", said) for said in messages(site)]
    return [int(match[1]) for match in found if match]


def silent(address: Address, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(address, timeout=PATIENCE, source_address=(source, 0))


@pytest.mark.patient
@pytest.mark.slow
def test_silent_connections(bed: Bed) -> None:
    with Array() as array, contextlib.ExitStack() as stack:
        pair = bed.pair(array.address, tunnel={"drain": "1s"})
        pair.west.start()
        pair.west.wait_ready()
        growth, before = watch_memory(pair.west), descriptors(pair.west)
        address = listening(pair.west)
        connections = [stack.enter_context(silent(address)) for _ in range(SILENT)]
        speechless = stack.enter_context(dial(address, context(bed.directory / "east")))
        ports = [connection.getsockname()[1] for connection in connections]
        assert wait_until_closed(connections[:32], OVERDUE) == 0, "the oldest are still open"
        pair.west.wait_for(lambda: len(driven_out(pair.west)) > 0, "has made no room at once")  # its log may be late
        gone = driven_out(pair.west)
        assert gone == ports[: len(gone)], "not the oldest first"

        pair.east.start()
        pair.east.wait_ready()
        pair.east.wait_up()
        code, reason = speechless.close_of()
        assert code == CloseCode.HANDSHAKE
        assert "within 10 s" in reason
        assert wait_until_closed(connections, OVERDUE) == 0, "some are still open"
        pair.west.wait_for(lambda: descriptors(pair.west) <= before + 2, "still has their descriptors")
        assert pair.west.status()["refused"] >= SILENT + 1
        assert growth() < 48 << 20, "256 that wait may take 100 KiB each"
        drain(*pair.sites)


def test_a_host_that_connects_without_end_keeps_no_other_out(bed: Bed) -> None:
    """The peer has connected and its first word is still on a long line, while another host takes all places."""
    with Array() as array, contextlib.ExitStack() as stack:
        pair = bed.pair(array.address, tunnel={"drain": "1s"})
        pair.west.start()
        pair.west.wait_ready()
        address = listening(pair.west)
        slow = stack.enter_context(silent(address))
        others = [stack.enter_context(silent(address, "127.0.0.2")) for _ in range(SILENT)]
        pair.west.wait_for(lambda: len(driven_out(pair.west)) > 0, "has made no room", PATIENCE)
        assert wait_until_closed(others[: SILENT - PENDING_MAX]) == 0
        with ScriptedLane(context(bed.directory / "east").wrap_socket(slow)) as lane:
            assert lane.come_up(hello("east", "west")).site == "west"
        drain(pair.west)
