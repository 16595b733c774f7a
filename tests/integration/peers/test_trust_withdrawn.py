"""A peer's certificate is replaced, or the peer removed, in west's files; SIGHUP makes it so, without a restart.

The lane that the old certificate opened ends, and is refused from then on, with the reason in both logs. The streams
wait, as in any outage; when the right certificate is back they go on where they stopped.
"""

import shutil
import signal
import threading

from bench.sites import free_port
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.frames import encode_close
from proxy.protocol.hello import Hello
from proxy.protocol.reader import encode
from tests.certificates import make
from tests.integration.bed.ends import Array, connect, how_it_ends, receipt, whole
from tests.integration.bed.sites import Bed, eventually, run, without_peer
from tests.integration.peers.scripted import Answerer, ScriptedLane, context, dial, hello
from tests.integration.peers.stage import peer_of, says
from tests.patience import PATIENCE


def awaiting_restart(text: str) -> str:
    """With a change as well that a running site does not take over: so it takes over nothing but trust."""
    assert "[tunnel]\n" in text
    return text.replace("[tunnel]\n", "[tunnel]\nstreams = 60\n")


def test_a_pin_is_replaced(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address, tunnel={"reconnect_max": "500ms", "drain": "1s"})
        pin = bed.directory / "pinned.crt"
        shutil.copy(bed.directory / "east.crt", pin)
        pair.west.config.write_text(pair.west.config.read_text().replace('"east.crt"', '"pinned.crt"'))
        run(*pair.sites)
        with connect(pair.entrance) as near:
            near.sendall(b"before ")
            array.arrival()
            make(bed.directory / "another", "east")
            shutil.copy(bed.directory / "another.crt", pin)
            pair.west.signal(signal.SIGHUP)
            says(pair.west, "no longer trusted")
            says(pair.east, "no longer trusted")
            says(pair.west, "refused", "its certificate is refused")
            says(pair.east, "the other side refuses our certificate")
            assert peer_of(pair.west, "east")["state"] == "outage"

            shutil.copy(bed.directory / "east.crt", pin)
            pair.west.signal(signal.SIGHUP)
            near.sendall(b"after")
            near.shutdown(1)
            whole(receipt(b"before after"), how_it_ends(near))
        assert [site.stop() for site in pair.sites] == [0, 0]


def test_a_peer_is_removed(bed: Bed) -> None:
    """Of two peers one is taken out of the file, with a change that awaits a restart."""
    listening = ("127.0.0.1", free_port())
    west = bed.site("west", {"east": None, "rogue": None}, tunnel={"listen": f"127.0.0.1:{listening[1]}"})
    west.start()
    west.wait_ready()
    with dial(listening, context(bed.directory / "rogue")) as lane:
        lane.come_up(hello("rogue", "west"))
        with_rogue = west.config.read_text()
        west.config.write_text(awaiting_restart(without_peer("rogue", with_rogue)))
        west.signal(signal.SIGHUP)
        assert lane.close_of()[0] == CloseCode.NOT_A_PEER
    removed = f"rogue was removed from {west.config}"
    eventually(west, "peers.1.last_error", removed)
    says(west, f"peer rogue: {removed}")
    with dial(listening, context(bed.directory / "rogue")) as lane:
        lane.greet(hello("rogue", "west"))
        assert "UNKNOWN_CA" in lane.ending()
    words = f"there is no tunnel to rogue: {removed}"
    west.wait_for(lambda: words in west.get("/api/v1/health")[1].decode(), "does not say why")
    says(west, "refused", "its certificate is refused: self-signed certificate")
    with dial(listening, context(bed.directory / "east")) as lane:
        lane.come_up(hello("east", "west"))
    west.config.write_text(with_rogue)
    west.signal(signal.SIGHUP)
    eventually(west, "peers.1.last_error", "")
    with dial(listening, context(bed.directory / "rogue")) as lane:
        lane.come_up(hello("rogue", "west"))
    assert west.stop() == 0


def test_a_peer_is_added(bed: Bed) -> None:
    """With a change that awaits a restart: its certificate is known after SIGHUP, and it itself only when the file is
    taken over. That is what both sides are told."""
    listening = ("127.0.0.1", free_port())
    west = bed.site("west", {"east": None, "rogue": None}, tunnel={"listen": f"127.0.0.1:{listening[1]}"})
    with_rogue = west.config.read_text()
    west.config.write_text(without_peer("rogue", with_rogue))
    west.start()
    west.wait_ready()
    west.config.write_text(awaiting_restart(with_rogue))
    west.signal(signal.SIGHUP)
    says(west, "certificates have been read anew")
    with dial(listening, context(bed.directory / "rogue")) as lane:
        lane.greet(hello("rogue", "west"))
        code, reason = lane.close_of()
        assert code == CloseCode.NOT_A_PEER
        assert reason == "rogue was added to the site's file, which is not taken over yet: the last reload said why"
    says(west, "refused", reason)
    with dial(listening, context(bed.directory / "rogue")) as lane:
        lane.send(encode(FrameType.CLOSE, 0, 0, encode_close(CloseCode.SURPLUS, "its doctor only looked")))
        lane.ending()
    says(west, "of rogue, has ended before it was a lane", "its doctor only looked")
    assert west.status()["refused"] == 1
    assert west.stop() == 0


def test_a_peer_is_removed_while_the_certificate_of_another_has_ended(bed: Bed) -> None:
    """That one is refused, and told; it keeps neither a reload nor a start from taking effect."""
    listening = ("127.0.0.1", free_port())
    peers = {"east": None, "rogue": None, "third": None}
    west = bed.site("west", peers, tunnel={"listen": f"127.0.0.1:{listening[1]}"})
    west.start()
    west.wait_ready()
    with dial(listening, context(bed.directory / "rogue")) as lane:
        lane.come_up(hello("rogue", "west"))
        make(bed.directory / "third", "third", days=(-10, -1))
        with_rogue = west.config.read_text()
        west.config.write_text(without_peer("rogue", with_rogue))
        west.signal(signal.SIGHUP)
        assert lane.close_of()[0] == CloseCode.SHUTDOWN
    assert west.stop() == 0
    west.start()
    west.wait_ready()
    assert b"the certificate of peer third has ended" in west.get("/api/v1/health")[1]
    with dial(listening, context(bed.directory / "third")) as lane:
        lane.greet(hello("third", "west"))
        assert "EXPIRED" in lane.ending()
    says(west, "refused", "certificate has expired")
    assert west.stop() == 0


def test_a_pin_is_replaced_while_the_answer_is_awaited(bed: Bed) -> None:
    """Of a lane that east has dialled: its certificate was right when it was shown, and is not when HELLO comes."""
    make(bed.directory / "west", "west")
    greeted, withdrawn, ended = threading.Event(), threading.Event(), threading.Event()
    codes: list[CloseCode] = []

    def answer(lane: ScriptedLane) -> None:
        said = Hello.decode(lane.expect(FrameType.HELLO).payload)
        greeted.set()
        assert withdrawn.wait(PATIENCE)
        lane.greet(hello("west", said.site, known_half=said.half))
        codes.append(lane.close_of()[0])
        ended.set()

    with Answerer(context(bed.directory / "west", answering=True), answer) as west:
        pin = bed.directory / "pinned.crt"
        shutil.copy(bed.directory / "west.crt", pin)
        east = bed.site("east", {"west": west.address}, tunnel={"reconnect_max": "500ms"})
        east.config.write_text(east.config.read_text().replace('"west.crt"', '"pinned.crt"'))
        east.start()
        east.wait_ready()
        assert greeted.wait(PATIENCE)
        make(bed.directory / "another", "west")
        shutil.copy(bed.directory / "another.crt", pin)
        east.signal(signal.SIGHUP)
        says(east, "certificates have been read anew")
        withdrawn.set()
        assert ended.wait(PATIENCE)
        assert codes == [CloseCode.NOT_A_PEER]
        assert peer_of(east, "west")["state"] != "up"
        says(east, "no longer trusted")
        assert east.stop() == 0
