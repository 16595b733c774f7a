"""Sites of different versions and settings agree on what both can do, or refuse each other and state both offers.

The refusal is CLOSE with its code at the one side and a line with the same words in the log of the other; it never
costs more than the lane.
"""

import struct
from dataclasses import replace

import pytest

from proxy.protocol.codes import Capability, CloseCode, FrameType
from proxy.protocol.hello import CREDIT_MAX, CREDIT_MIN, Hello
from proxy.protocol.reader import encode
from tests.certificates import make
from tests.integration.bed.contents import cut_at_random, volume
from tests.integration.bed.ends import Array, how_dialling_ends, how_it_ends, receipt, same, send, torn, whole
from tests.integration.bed.sites import Bed, drain, run
from tests.integration.peers.acceptor import Acceptor, sending
from tests.integration.peers.scripted import Answerer, ScriptedLane, context, hello
from tests.integration.peers.stage import hub, says
from tests.unit.iscsi.pdus import login

MINE = hello("rogue", "west", initial_credit=CREDIT_MAX)
REFUSED: dict[str, tuple[Hello, CloseCode, tuple[str, ...]]] = {
    "later versions": (
        replace(MINE, lowest=2, highest=3),
        CloseCode.VERSION,
        ("west speaks 1 to 1", "rogue 2 to 3"),
    ),
    "no slices": (
        replace(MINE, capabilities=frozenset({Capability.ZSTD})),
        CloseCode.SETTINGS,
        ("west needs [2]", "rogue offers [1]"),
    ),
    "the same name": (replace(MINE, site="west"), CloseCode.WRONG_NAME, ("both sites are called 'west'",)),
    "another name": (replace(MINE, site="east"), CloseCode.WRONG_NAME, ("'east' calling 'west'", "expecting 'rogue'")),
    "calling another": (
        replace(MINE, peer="north"),
        CloseCode.WRONG_NAME,
        ("'rogue' calling 'north'", "came to 'west'"),
    ),
}


def test_what_is_refused(bed: Bed) -> None:
    with Array() as array, hub(bed, array.address) as stage:
        for what, (mine, expected, words) in REFUSED.items():
            with stage.dial() as lane:
                lane.greet(mine)
                code, reason = lane.close_of()
                assert code == expected, what
                assert all(word in reason for word in words), (what, reason)
                says(stage.west, "rogue", reason)
        stage.still_works(array)


def test_what_a_dialler_refuses(bed: Bed) -> None:
    """The answer is judged like the call."""
    make(bed.directory / "west", "west")
    told: list[tuple[CloseCode, str]] = []

    def answer(lane: ScriptedLane) -> None:
        said = Hello.decode(lane.expect(FrameType.HELLO).payload)
        lane.greet(hello("west", "east", known_half=said.half, lowest=7, highest=9))
        told.append(lane.close_of())

    with Answerer(context(bed.directory / "west", answering=True), answer) as west:
        east = bed.site("east", {"west": west.address})
        east.start()
        reason = says(east, "no common version", "east speaks 1 to 1", "west 7 to 9")
        assert east.stop() == 0
    assert told[0][0] == CloseCode.VERSION
    assert told[0][1] in reason


def test_what_a_dialler_is_told(bed: Bed) -> None:
    """CLOSE instead of HELLO: its words are in the dialler's log."""
    make(bed.directory / "west", "west")
    close = encode(FrameType.CLOSE, 0, 0, CloseCode.SETTINGS.to_bytes(2, "big"), b"we need capability 77")

    def refuse(lane: ScriptedLane) -> None:
        lane.expect(FrameType.HELLO)
        lane.send(close)
        lane.ending()

    with Answerer(context(bed.directory / "west", answering=True), refuse) as west:
        east = bed.site("east", {"west": west.address})
        east.start()
        says(east, "west", "refused by the other side: we need capability 77 (settings)")
        assert east.stop() == 0


def test_what_is_agreed(bed: Bed) -> None:
    """A wider range of versions, capabilities and fields of the future, the smallest credit, no software."""
    future = replace(
        MINE, highest=900, capabilities=frozenset({1, 2, 77, 9999}), initial_credit=CREDIT_MIN, streams=1, software=""
    )
    unknown = struct.pack(">HH", 4711, 5) + b"never"
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.send(encode(FrameType.HELLO, 0, 0, future.encode(), unknown))
        said = Hello.decode(lane.expect(FrameType.HELLO).payload)
        assert (said.lowest, said.highest, said.known_half) == (1, 1, future.half)
        stage.west.wait_for(lambda: stage.west.status()["peers"][1]["state"] == "up", "has no lane")


@pytest.mark.parametrize("zstd", [True, False])
def test_compression_only_if_both_can(bed: Bed, zstd: bool) -> None:
    """What west sends to a peer that does not know zstd goes as it is, however well it would compress."""
    content = b"It compresses. " * 50_000
    capabilities = frozenset({Capability.ZSTD, Capability.SLICES} if zstd else {Capability.SLICES})
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(replace(MINE, capabilities=capabilities))
        with sending(stage.to_rogue, content) as near:
            acceptor = Acceptor(lane)
            literals = acceptor.take()
            acceptor.consume()
            whole(b"", how_it_ends(near))
    assert (1 in acceptor.codecs) == zstd
    assert content.startswith(literals)


@pytest.mark.parametrize("unknown", [frozenset(), frozenset({Capability.SPANS}), frozenset({Capability.ZSTD})])
def test_records_only_if_both_can(bed: Bed, unknown: frozenset[Capability]) -> None:
    """To a peer that does not know of them, or of what compresses them, an iSCSI login goes as any bytes."""
    content = login(b"InitiatorName=iqn.2026-01.example:west\0")
    spans, capabilities = not unknown, frozenset(Capability) - unknown
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(replace(MINE, capabilities=capabilities))
        with sending(stage.to_rogue, content) as near:
            acceptor = Acceptor(lane)
            literals = acceptor.take()
            acceptor.consume()
            whole(b"", how_it_ends(near))
    same(b"" if spans else content, literals)
    assert bool(acceptor.records) == spans


def test_as_many_streams_as_the_peer_allows(bed: Bed) -> None:
    """A connection beyond that is reset at once, with the reason in the log; the one that lives goes on."""
    with Array() as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(replace(MINE, streams=1))
        with sending(stage.to_rogue, b"the only one") as near:
            acceptor = Acceptor(lane)
            torn(b"", how_dialling_ends(stage.to_rogue))
            says(stage.west, "refused", "the peer allows no more than 1 streams")
            assert acceptor.take() == b"the only one"
            acceptor.consume()
            whole(b"", how_it_ends(near))


def test_chunks_of_different_sizes(bed: Bed) -> None:
    """Each site cuts as it is told to, and takes chunks of any legal size; each direction's second pass is warm."""
    content = volume("cut differently", 24 << 20)
    with Array() as far, Array() as near:
        pair = bed.pair(far.address, near.address)
        for site, chunking in (
            (pair.east, 'minimum = "1KiB"\naverage = "8KiB"\nmaximum = "64KiB"'),
            (pair.west, 'minimum = "64KiB"\naverage = "128KiB"\nmaximum = "256KiB"'),
        ):
            site.config.write_text(f"{site.config.read_text()}\n[chunking]\n{chunking}\n")
        run(*pair.sites)
        for seed, entrance in enumerate((pair.entrance, pair.back, pair.entrance, pair.back)):
            sending = send(cut_at_random(content, 1 << 18, seed), entrance)
            whole(receipt(content), sending)
        for site in pair.sites:
            moved = site.status()["bytes"]
            assert moved["raw"] >= 2 * len(content)
            assert moved["wire"] < 1.1 * len(content), "the second time it was not warm"
        drain(*pair.sites)
