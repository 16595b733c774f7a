"""Bytes that are not what their fingerprint says are neither stored nor delivered, and only their own stream ends.

It ends by RESET "corrupt"; the counter `mismatches`, the health ladder and a line of the log tell the operator. The
peer's other streams go on, and what it claimed is asked for anew when it is referred to.
"""

import json

from prometheus_client.parser import text_string_to_metric_families

from bench.sites import Site
from dedupstore.fingerprint import fingerprint
from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.frames import decode_miss, encode_end, encode_fill
from proxy.protocol.reader import encode
from proxy.reduction.batch import CODEC_NONE, assemble
from proxy.reduction.tokens import learn_token, literal_token, reference_token
from tests.integration.bed.ends import Array, swallow, torn, whole
from tests.integration.bed.sites import Bed
from tests.integration.peers.scripted import ScriptedLane, data, hello, lesson, open_
from tests.integration.peers.stage import Hub, hub, peer_of, says
from tests.patience import PATIENCE

TRUE, FALSE = b"the true chunk" * 100, b"a forged chunk" * 100
NAME = fingerprint(TRUE)


def reference(stream: int, number: int, name: bytes, plain: int) -> bytes:
    """DATA of one REFERENCE."""
    return encode(FrameType.DATA, stream, number, assemble(plain, CODEC_NONE, reference_token(name), 0, [b""]))


def fill(stream: int, number: int, content: bytes) -> bytes:
    """FILL that claims to be the true chunk."""
    return encode(FrameType.FILL, stream, number, encode_fill(NAME, CODEC_NONE, len(content), content))


def mismatches(site: Site) -> float:
    """As Prometheus sees them, for rogue."""
    _, body = site.get("/metrics")
    samples = [sample for family in text_string_to_metric_families(body.decode()) for sample in family.samples]
    return next(
        sample.value
        for sample in samples
        if sample.name == "isthmus_mismatches_total" and sample.labels == {"peer": "rogue"}
    )


def reasons(site: Site) -> str:
    """Why rogue is not healthy, in words."""
    _, body = site.get("/api/v1/health")
    (rogue,) = (peer for peer in json.loads(body)["peers"] if peer["name"] == "rogue")
    return "; ".join(reason["words"] for reason in rogue["reasons"])


def check_refusal(stage: Hub, lane: ScriptedLane, stream: int, count: int) -> None:
    """The stream was reset for its bytes, and that is counted."""
    code, reason = lane.reset_of(stream)
    assert (code, "match" in reason) == (ResetCode.CORRUPT, True), reason
    says(stage.west, f"stream {stream}", "does not match")
    assert mismatches(stage.west) == count
    words = f"{count} chunks from rogue did not match"
    stage.west.wait_for(lambda: words in reasons(stage.west), f"does not say {words!r}", PATIENCE)
    assert peer_of(stage.west, "rogue")["bytes"]["mismatches"] == count


def check_asked_anew(lane: ScriptedLane, stream: int, name: bytes, content: bytes) -> None:
    """Nothing was stored: the chunk has to be filled, and then it is delivered."""
    lane.send(open_(stream), reference(stream, 1, name, len(content)))
    miss = lane.expect(FrameType.MISS)
    assert (miss.stream, decode_miss(miss.payload)) == (stream, (name,))
    lane.send(
        encode(FrameType.FILL, stream, 2, encode_fill(name, CODEC_NONE, len(content), content)),
        encode(FrameType.END, stream, 3, encode_end(len(content), b"")),
    )


def test_a_fill_that_is_something_else(bed: Bed) -> None:
    """Other bytes, too few, too many: each is refused; then the true ones are delivered."""
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(open_(1), data(1, 1, b"good "))
        array.arrival(0)
        for count, content in enumerate((FALSE, TRUE[:-1], TRUE + b"\x00"), 1):
            stream = 1 + 2 * count
            lane.send(open_(stream), reference(stream, 1, NAME, len(TRUE)))
            assert decode_miss(lane.expect(FrameType.MISS).payload) == (NAME,)
            lane.send(fill(stream, 2, content))
            check_refusal(stage, lane, stream, count)
            arrival = array.arrival(count).wait()
            torn(b"", arrival)
        assert stage.west.status()["store"]["chunks"] == 0
        check_asked_anew(lane, 9, NAME, TRUE)
        whole(TRUE, array.arrival(4).wait())
        lane.send(data(1, 2, b"to the end"), encode(FrameType.END, 1, 3, encode_end(15, b"")))
        whole(b"good to the end", array.arrival(0).wait())
        assert mismatches(stage.west) == 3


def test_a_lesson_under_a_false_name(bed: Bed) -> None:
    """The batch that teaches delivers nothing if its chunk is not what it is called."""
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(open_(1), encode(FrameType.DATA, 1, 1, lesson(FALSE, NAME)))
        check_refusal(stage, lane, 1, 1)
        arrival = array.arrival(0).wait()
        torn(b"", arrival)
        assert stage.west.status()["store"]["chunks"] == 0
        check_asked_anew(lane, 3, NAME, TRUE)
        whole(TRUE, array.arrival(1).wait())
        check_asked_anew(lane, 5, fingerprint(FALSE), FALSE)
        whole(FALSE, array.arrival(2).wait())


def test_a_false_name_at_the_end(bed: Bed) -> None:
    """The mark that END carries is checked as well: the far array sees no clean end."""
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(open_(1), data(1, 1, FALSE))
        lane.send(encode(FrameType.END, 1, 2, encode_end(len(FALSE), learn_token(len(FALSE), NAME))))
        check_refusal(stage, lane, 1, 1)
        torn(FALSE, array.arrival(0).wait())
        assert stage.west.status()["store"]["chunks"] == 0


def test_a_false_name_among_good_ones(bed: Bed) -> None:
    """What was right before it in the same batch is not delivered either: nobody knows what else is wrong."""
    tokens = literal_token(4) + learn_token(4, fingerprint(b"good")) + literal_token(4) + learn_token(4, NAME)
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(open_(1), encode(FrameType.DATA, 1, 1, assemble(8, CODEC_NONE, tokens, 8, [b"goodevil"])))
        check_refusal(stage, lane, 1, 1)
        torn(b"", array.arrival(0).wait())
        assert stage.west.status()["store"]["chunks"] == 1
