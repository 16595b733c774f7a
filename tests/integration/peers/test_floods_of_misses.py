"""A peer that asks again and again for chunks that it should hold gets each as often as it was referred to, no more.

Many misses make west doubt what it knows of that peer: it stops referring for a while, and says so in its status.
"""

from dedupstore.fingerprint import fingerprint
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.frames import encode_miss
from proxy.protocol.hello import CREDIT_MAX
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array, how_it_ends, same, torn, whole
from tests.integration.bed.sites import Bed
from tests.integration.peers.acceptor import Acceptor, replicate, sending
from tests.integration.peers.scripted import hello
from tests.integration.peers.stage import hub, peer_of, watch_memory

SIZE = 12 << 20
MUCH = 32 << 20


def test_misses_beyond_measure(bed: Bed) -> None:
    content = volume("missed", SIZE)
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west", initial_credit=CREDIT_MAX))
        _, literals = replicate(stage.to_rogue, lane, content)
        same(content, literals)
        growth = watch_memory(stage.west)
        with sending(stage.to_rogue, content) as near:
            acceptor = Acceptor(lane)
            assert len(acceptor.take()) < SIZE // 100
            names = list(dict.fromkeys(acceptor.references))
            assert len(names) > 64
            fills = acceptor.miss(names)
            assert all(fingerprint(chunk) == name for name, chunk in fills.items())
            assert peer_of(stage.west, "rogue")["references_suspended"]
            assert peer_of(stage.west, "rogue")["bytes"]["fills"] == len(names)
            acceptor.consume()
            whole(b"", how_it_ends(near))
        _, literals = replicate(stage.to_rogue, lane, content)
        same(content, literals)
        assert growth() < MUCH
        stage.still_works(array)


def test_a_miss_too_many(bed: Bed) -> None:
    """A chunk that was referred to once is asked for twice: that is a breach."""
    content = volume("missed", 1 << 20)
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west", initial_credit=CREDIT_MAX))
        replicate(stage.to_rogue, lane, content)
        with sending(stage.to_rogue, content) as near:
            acceptor = Acceptor(lane)
            acceptor.take()
            acceptor.miss(acceptor.references[:1])
            acceptor.say(FrameType.MISS, encode_miss(acceptor.references[:1]))
            code, reason = lane.close_of()
            assert (code, "MISS" in reason) == (CloseCode.PROTOCOL_ERROR, True), reason
            torn(b"", how_it_ends(near))
        stage.still_works(array)
