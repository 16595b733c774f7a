"""On a slow line the sites compress harder, with a context, and say so; a peer that knows no contexts gets none.

The line is a forwarder of TCP connections that takes its time. Every byte arrives.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.datasets import Dataset
from bench.sites import free_port
from proxy.protocol.codes import Capability
from proxy.protocol.hello import CREDIT_MIN
from proxy.reduction.batch import CODEC_CONTEXT
from tests.integration.bed.contents import cut
from tests.integration.bed.ends import Array, how_it_ends, receipt, send, whole
from tests.integration.bed.sites import Bed, Pair
from tests.integration.bed.wire import Wire
from tests.integration.peers.acceptor import Acceptor, sending
from tests.integration.peers.scripted import hello
from tests.integration.peers.stage import hub

RATE = 4e6
SIZE = 48 << 20
WRITE = 256 << 10


def compressions(pair: Pair) -> set[str]:
    """What compresses the streams now."""
    streams: list[dict[str, Any]] = pair.east.status()["streams"]
    return {stream["compression"] for stream in streams}


def test_a_context_is_used(bed: Bed) -> None:
    content = b"".join(Dataset("slow line", SIZE, 38))
    tunnel = ("127.0.0.1", free_port())
    with Wire(tunnel, rate=RATE) as wire, Array() as far, ThreadPoolExecutor() as threads:
        pair = bed.pair(far.address, tunnel_address=tunnel, dialled=wire.address)
        with pair.running():
            sending = threads.submit(send, cut(content, WRITE), pair.entrance)
            pair.east.wait_for(lambda: any("MiB" in one for one in compressions(pair)), "uses no context")
            whole(receipt(content), sending.result())
            moved = pair.east.status()["bytes"]
            assert moved["compression_microseconds"] > 0
            assert moved["after_compression"] < 0.6 * SIZE


def test_not_with_a_peer_that_knows_none(bed: Bed) -> None:
    """Its lane is as slow; what it gets are frames of their own, at a higher level."""
    content = b"".join(Dataset("slow line", 12 << 20, 38))
    capabilities = frozenset({Capability.ZSTD, Capability.SLICES})
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west", capabilities=capabilities, initial_credit=CREDIT_MIN))
        with sending(stage.to_rogue, content) as near:
            acceptor = Acceptor(lane)
            assert acceptor.take(RATE)
            (stream,) = stage.west.status()["streams"]
            acceptor.consume()
            whole(b"", how_it_ends(near))
        assert stream["compression"] not in {"none", "zstd 1"}
        assert "MiB" not in stream["compression"]
        assert CODEC_CONTEXT not in acceptor.codecs
