"""Whoever cannot prove to be a configured peer is refused, and both sides' logs say why.

With TLS 1.3 the dialling side's handshake succeeds before its certificate has been judged: it learns of the refusal by
an alert, or by CLOSE, while it waits for HELLO. What a real dialler makes of that is asserted as well.
"""

import contextlib
import socket
import ssl
import time
from datetime import datetime
from itertools import pairwise
from operator import ge
from pathlib import Path
from typing import Any

from bench.sites import Address, Site, SiteFailure, free_port
from proxy.net.handshake import LAST_WORDS
from proxy.protocol.codes import FrameType
from proxy.protocol.frames import decode_close
from tests.certificates import CLIENT, SERVER, make
from tests.integration.bed.examination import examine
from tests.integration.bed.sites import Bed, Pair
from tests.integration.bed.wire import Wire
from tests.integration.peers.authority import Authority
from tests.integration.peers.scripted import Answerer, Ended, ScriptedLane, asking, context, dial, hello
from tests.integration.peers.stage import peer_of, records, says
from tests.patience import at_best


def refused(lane: ScriptedLane, name: str) -> str:
    """Say HELLO in spite of everything; how the connection ends, or what is answered."""
    lane.greet(hello(name, "west"))
    try:
        frame = lane.receive()
        return str(decode_close(frame.payload)) if frame.type == FrameType.CLOSE else FrameType(frame.type).name
    except Ended as ended:
        return str(ended)


def test_an_answerer_refuses(bed: Bed) -> None:
    """West recognises east and rogue by their names under a private CA; each case is one thing wrong with rogue's."""
    authority, other = Authority(bed.directory), Authority(bed.directory, "other")
    make(bed.directory / "self", "rogue")
    cases: dict[str, tuple[Path | None, str, str]] = {
        "none": (None, "did not return a certificate", "CERTIFICATE_REQUIRED"),
        "self-signed": (bed.directory / "self", "self-signed", "UNKNOWN_CA"),
        "of another authority": (other.sign("rogue", "foreign"), "unable to get", "UNKNOWN_CA"),
        "expired": (authority.sign("rogue", "old", days=(-9, -1)), "expired", "CERTIFICATE_EXPIRED"),
        "not yet valid": (authority.sign("rogue", "young", days=(1, 9)), "not yet valid", "BAD_CERTIFICATE"),
        "for servers": (authority.sign("rogue", "server", purposes=(SERVER,)), "purpose", "UNSUPPORTED_CERTIFICATE"),
        "of nobody known": (authority.sign("mallory"), "'mallory' belongs to no configured peer", "NOT_A_PEER"),
        "of another peer": (authority.sign("east"), "'rogue' calling 'west'", "WRONG_NAME"),
    }
    authority.sign("west")
    listening = free_port()
    west = bed.site("west", {"east": None, "rogue": None}, tunnel={"listen": f"127.0.0.1:{listening}"})
    authority.recognise_by(west)
    west.start()
    west.wait_ready()
    for identity, logged, told in cases.values():
        with dial(("127.0.0.1", listening), context(identity)) as lane:
            remote = f"127.0.0.1:{lane.connection.getsockname()[1]}"
            assert told in refused(lane, "rogue")
            says(west, remote, logged)
    assert west.status()["refused"] == len(cases) - 1  # the last one was recognised, as east
    assert [peer["state"] for peer in west.status()["peers"]] == ["waiting", "waiting"]
    assert west.stop() == 0


def test_a_pin_that_expires(bed: Bed) -> None:
    """It was good when west started, and is judged anew at each connection."""
    address = ("127.0.0.1", free_port())
    west = bed.site("west", {"east": None}, tunnel={"listen": f"127.0.0.1:{address[1]}"})
    ends = next(ends for seconds in (8, 40) if (ends := taken_and_refused(bed, west, address, seconds))[0] == "HELLO")
    assert "ALERT_CERTIFICATE_EXPIRED" in ends[-1]
    says(west, "refused", "certificate has expired")


def taken_and_refused(bed: Bed, west: Site, address: Address, seconds: float) -> list[str]:
    """How connections end with a certificate that is good for so long: first with HELLO, if that was long enough."""
    make(bed.directory / "east", "east", days=(-1, seconds / 86400))
    west.start()
    try:
        west.wait_ready()
    except SiteFailure:  # it had expired by then
        return [west.log.rename(west.log.with_suffix(".early")).read_text()]
    ends: list[str] = []

    def is_refused() -> bool:
        with dial(address, context(bed.directory / "east")) as lane:
            ends.append(refused(lane, "east"))
        return "ALERT_CERTIFICATE_EXPIRED" in ends[-1]

    west.wait_for(is_refused, "takes an expired certificate")
    assert west.stop() == 0
    return ends


def test_a_dialler_refuses(bed: Bed) -> None:
    """East dials five peers and finds something wrong with each: it never says HELLO, and its log has the reason."""
    authority, other = Authority(bed.directory), Authority(bed.directory, "other")
    cases = {
        "foreign": (other.sign("foreign"), "its certificate is refused: unable to get"),
        "old": (authority.sign("old", days=(-9, -1)), "its certificate is refused: certificate has expired"),
        "young": (authority.sign("young", days=(1, 9)), "its certificate is refused: certificate is not yet valid"),
        "client": (authority.sign("client", purposes=(CLIENT,)), "its certificate is refused: unsuitable"),
        "stranger": (authority.sign("mallory"), "the certificate is for 'mallory', not for stranger"),
    }
    authority.sign("east")
    heard: list[int] = []
    with contextlib.ExitStack() as stack:
        answerers = {
            name: stack.enter_context(
                Answerer(context(identity, answering=True), lambda lane: heard.append(first(lane)))
            )
            for name, (identity, _) in cases.items()
        }
        east = bed.site("east", {name: answerer.address for name, answerer in answerers.items()})
        authority.recognise_by(east)
        east.start()
        east.wait_ready()
        for name, (_, logged) in cases.items():
            says(east, name, logged)
            assert logged in peer_of(east, name)["last_error"]
        assert east.stop() == 0
    assert set(heard) <= {FrameType.CLOSE}
    assert "ALERT_CERTIFICATE_EXPIRED" in answerers["old"].failures[0]


def test_a_dialler_is_led_to_another_peer_and_to_itself(bed: Bed) -> None:
    """By addresses that were mixed up, a port forward, or a load balancer: certificates that its file does name."""
    listening = {name: ("127.0.0.1", free_port()) for name in ("east", "north")}
    own = {name: {"listen": f"{host}:{port}"} for name, (host, port) in listening.items()}
    north = bed.site("north", {"east": None}, tunnel=own["north"])
    reasons = {
        "west": "the certificate is for 'north', not for west",
        "south": "the certificate is this site's own: the way there leads back here",
    }
    with Wire(listening["east"]) as back:
        peers = {"north": None, "west": listening["north"], "south": back.address}
        east = bed.site("east", peers, tunnel=own["east"])
        for site in (north, east):
            site.start()
            site.wait_ready()
        _, findings = examine(east)
        for name, reason in reasons.items():
            says(east, name, reason)
            assert reason in peer_of(east, name)["last_error"]
            assert f"wrong certificate ({reason})" in findings[f"peer {name}"]["found"]
        says(north, "refused", reasons["west"])
        for site in (east, north):
            assert site.stop() == 0


class Unmoved(ssl.SSLContext):
    """An answerer that does not end a connection whose other end has refused its certificate."""

    def wrap_socket(self, sock: socket.socket, *_: Any, **__: Any) -> ssl.SSLSocket:
        connection = super().wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        try:
            connection.do_handshake()
        except ssl.SSLError:
            time.sleep(2 * LAST_WORDS)
            connection.close()
            raise
        return connection


def test_a_dialler_refuses_who_does_not_listen(bed: Bed) -> None:
    """Why is no less clear because the other side lets the alert pass, or because the line takes more than a second."""
    make(bed.directory / "another", "west")
    tls = Unmoved(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(bed.directory / "another.crt", bed.directory / "another.key")
    with Answerer(tls, lambda lane: None) as west:
        east = bed.site("east", {"west": west.address})
        east.start()
        east.wait_ready()
        says(east, "cannot connect")
        reason = peer_of(east, "west")["last_error"]
        assert east.stop() == 0
    assert "its certificate is refused: self-signed certificate, and none that this site's file names" in reason


def test_a_dialler_is_refused(bed: Bed) -> None:
    """The alerts of an answerer that refuses are words in the dialler's log."""
    make(bed.directory / "another", "east")
    make(bed.directory / "west", "west")
    with Answerer(asking(bed.directory / "west", bed.directory / "another.crt"), lambda lane: None) as west:
        east = bed.site("east", {"west": west.address})
        east.start()
        east.wait_ready()
        says(east, "west", "the other side refuses our certificate: unknown ca")
        assert "refuses our certificate" in peer_of(east, "west")["last_error"]
        assert east.stop() == 0


def test_two_real_sites_that_do_not_know_each_other(bed: Bed) -> None:
    """West has another certificate of east's. Both logs say so; east tries again, after ever longer, uneven pauses."""
    pair = bed.pair(("127.0.0.1", 9), tunnel={"reconnect_max": "1s"})
    make(bed.directory / "former", "east")
    pair.west.config.write_text(pair.west.config.read_text().replace("east.crt", "former.crt"))
    pair.west.start()
    pair.west.wait_ready()
    pauses = at_best(lambda: refused_again_and_again(pair), grown)  # west may be late to see one attempt, not the next
    assert grown(pauses), pauses
    assert pair.west.stop() == 0


def refused_again_and_again(pair: Pair) -> list[float]:
    """Start east, and stop it after some attempts: the pauses between them, in seconds."""
    before = len(attempts(pair.west))
    pair.east.start()
    says(pair.west, "refused", "self-signed certificate, and none that this site's file names")
    says(pair.east, "west", "the other side refuses our certificate: unknown ca")
    pair.west.wait_for(lambda: len(attempts(pair.west)) >= before + 5, "is not dialled again")
    assert pair.east.stop() == 0
    return [later - earlier for earlier, later in pairwise(attempts(pair.west)[before:])]


def grown(pauses: list[float]) -> bool:
    """Each pause is at least half of what it may be at most, and that doubles up to a second; no two are alike."""
    least = [0.125, 0.25, 0.5, 0.5]
    return all(map(ge, pauses, least)) and len(set(pauses)) == len(pauses)


def attempts(site: Site) -> list[float]:
    """When the site refused a connection, in seconds."""
    refusals = [record for record in records(site) if "refused" in str(record["message"])]
    return [datetime.fromisoformat(record["time"]).timestamp() for record in refusals]


def first(lane: ScriptedLane) -> int:
    """Type of the first frame that the dialler sends."""
    return lane.receive().type
