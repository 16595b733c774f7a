"""`isthmus doctor` beside real sites: what it says when all is well, and of each thing that can be wrong with a peer.

It leaves a running pair as it was: no lane, stream or outage more, and the other side's log says who knocked.
"""

import contextlib
import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from bench.sites import Address, Site, environment, free_port, isthmus
from proxy import identity
from proxy.errors import ExitCode
from tests.certificates import make
from tests.integration.bed import forked
from tests.integration.bed.ends import Array
from tests.integration.bed.examination import examine, level
from tests.integration.bed.sites import Bed, drain
from tests.integration.peers.authority import Authority
from tests.integration.peers.scripted import Answerer, ScriptedLane, asking, context
from tests.integration.peers.stage import listening, says
from tests.patience import PATIENCE, at_best

NOBODY: Address = ("127.0.0.1", 9)
QUICK = {"connect_timeout": "500ms"}
LOST, SILENT = "packets of full size are lost", "TCP connects, TLS does not answer"


def peer_problem(site: Site, peer: str = "west") -> dict[str, str]:
    code, findings = examine(site)
    finding = findings[f"peer {peer}"]
    assert (code, finding["level"]) == (ExitCode.FAILED, "problem")
    return finding


def readdress(site: Site, old: Address, new: Address) -> None:
    """Another address in a site's file."""
    text = site.config.read_text()
    assert f"{old[0]}:{old[1]}" in text
    site.config.write_text(text.replace(f"{old[0]}:{old[1]}", f"{new[0]}:{new[1]}"))


@contextlib.contextmanager
def relay(far: Address, longest: int) -> Iterator[Address]:
    """A path on which every packet with more than so many bytes is lost: what is said first decides."""
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as stack:
        thread = threading.Thread(target=_pass_on, args=(listener, far, longest, stack), daemon=True)
        thread.start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _pass_on(listener: socket.socket, far: Address, longest: int, stack: contextlib.ExitStack) -> None:
    with contextlib.suppress(OSError):
        while True:
            near = stack.enter_context(listener.accept()[0])
            first = near.recv(1 << 20)
            if min(len(first), near.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)) <= longest:
                beyond = stack.enter_context(socket.create_connection(far))
                beyond.sendall(first)
                for source, sink in ((near, beyond), (beyond, near)):
                    threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def test_a_running_pair(bed: Bed) -> None:
    with Array() as array, bed.pair(array.address, store={"mode": "disk"}).running() as pair:
        before = [site.status()["peers"][0] for site in pair.sites]
        code, east = examine(pair.east, "--rate", "45Mbit", "--round-trip", "100ms")
        assert (code, examine(pair.west)[0]) == (ExitCode.OK, ExitCode.OK)
        says(
            pair.west,
            "of east, has ended before it was a lane",
            "isthmus doctor only looked whether the certificates are accepted",
        )
        assert (pair.west.status()["refused"], pair.west.status()["last_refusal"]) == (0, "")
        for site, was in zip(pair.sites, before, strict=True):
            now = site.status()["peers"][0]
            for key in ("state", "outages", "streams", "last_error"):
                assert now[key] == was[key]
            assert [lane["number"] for lane in now["lanes"]] == [lane["number"] for lane in was["lanes"]]
    for about in ("own certificate", "certificate of west", "peer west", "path to west", "tunnel to west"):
        assert level(east, about) == "ok"
    assert "accepts our certificate and shows its own" in east["peer west"]["found"]
    assert "packets of full size pass" in east["path to west"]["found"]
    assert level(east, "MTU probing") == "ok"
    assert "in use, by the running site" in east["forward array"]["found"]
    assert "45 Mbit/s at 100 ms" in east["socket buffers"]["found"]


def test_the_export_and_the_waiting_side(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        _, stopped = examine(pair.west)
        assert (level(stopped, "export array"), level(stopped, "peer east")) == ("ok", "ok")
        assert stopped["tunnel listener"]["found"].endswith("is free")
        pair.west.start()
        pair.west.wait_ready()
        _, waiting = examine(pair.west)
        assert (level(waiting, "export array"), level(waiting, "tunnel to east")) == ("ok", "attention")
        drain(pair.west)
    code, gone = examine(pair.west)
    assert (code, level(gone, "export array")) == (ExitCode.FAILED, "problem")
    assert "connection refused" in gone["export array"]["found"]


def test_a_peer_that_is_down(bed: Bed) -> None:
    finding = peer_problem(bed.pair(NOBODY).east)
    assert finding["found"].endswith(": connection refused")
    assert finding["remedy"].startswith("start isthmus serve on 127.0.0.1")


def test_a_peer_that_has_another_certificate_of_ours(bed: Bed) -> None:
    pair = bed.pair(NOBODY)
    make(bed.directory / "former", "east")
    pair.west.config.write_text(pair.west.config.read_text().replace("east.crt", "former.crt"))
    pair.west.start()
    pair.west.wait_ready()
    finding = peer_problem(pair.east)
    assert "our certificate is refused (the other side refuses our certificate: unknown ca)" in finding["found"]
    ours = identity.show_fingerprint(identity.fingerprint(bed.directory / "east.crt"))
    assert f"give it {bed.directory / 'east.crt'} (SHA-256 {ours})" in finding["remedy"]
    drain(pair.west)


def test_a_peer_of_which_we_have_another_certificate(bed: Bed) -> None:
    pair = bed.pair(NOBODY)
    pair.west.start()
    pair.west.wait_ready()
    make(bed.directory / "former", "west")
    pair.east.config.write_text(pair.east.config.read_text().replace("west.crt", "former.crt"))
    finding = peer_problem(pair.east)
    theirs = identity.show_fingerprint(identity.fingerprint(bed.directory / "west.crt"))
    refused = "its certificate is refused: self-signed certificate, and none that this site's file names"
    assert f"wrong certificate ({refused})" in finding["found"]
    assert f"it shows SHA-256 {theirs}" in finding["found"]
    says(pair.west, "of east, has ended before it was a lane")
    assert (pair.west.status()["refused"], pair.west.status()["last_refusal"].partition(", ")[2]) == (
        1,
        "the other side refuses our certificate: unknown ca",
    )
    drain(pair.west)


def test_a_peer_of_another_name(bed: Bed) -> None:
    """The private CA has signed its certificate, but not for that name."""
    authority = Authority(bed.directory)
    authority.sign("east")
    mallory = authority.sign("mallory")
    with Answerer(context(mallory, answering=True), lambda lane: None) as answerer:
        east = bed.site("east", {"west": answerer.address})
        authority.recognise_by(east)
        finding = peer_problem(east)
    assert "the certificate is for 'mallory', not for west" in finding["found"]


def test_another_peer_at_its_address(bed: Bed) -> None:
    """It is no stranger there: it knows us as well."""
    third = bed.site("third", {"east": None}, tunnel={"listen": f"127.0.0.1:{free_port()}"})
    third.start()
    third.wait_ready()
    finding = peer_problem(bed.site("east", {"west": listening(third), "third": listening(third)}))
    assert "the certificate is for 'third', not for west" in finding["found"]
    says(third, "of east, has ended before it was a lane")
    assert (third.status()["refused"], third.status()["last_refusal"]) == (0, "")
    drain(third)


def test_somebody_who_does_not_answer(bed: Bed) -> None:
    """The kernel accepts the connection, and nobody ever reads from it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        east = bed.site("east", {"west": listener.getsockname()}, tunnel=QUICK)
        finding = at_best(lambda: peer_problem(east), lambda found: found["found"].endswith(SILENT))
    assert finding["found"].endswith(SILENT)


def test_a_peer_that_never_stops_to_speak(bed: Bed) -> None:
    """It has a byte more within each step's time, and held `doctor`, and `support-bundle`, for ever."""
    for name in ("east", "west"):
        make(bed.directory / name, name)
    with Answerer(asking(bed.directory / "west", bed.directory / "east.crt"), _speak) as answerer:
        _, findings = examine(bed.site("east", {"west": answerer.address}, tunnel=QUICK))
    assert level(findings, "peer west") == "attention"
    assert "it does not end the connection" in findings["peer west"]["found"]


def _speak(lane: ScriptedLane) -> None:
    while True:
        lane.connection.sendall(b"x")
        time.sleep(0.1)


def test_a_path_that_loses_large_packets(bed: Bed) -> None:
    """What is said first is longer than a packet; in short ones it gets through."""
    pair = bed.pair(NOBODY, tunnel=QUICK)
    pair.west.start()
    pair.west.wait_ready()
    direct = listening(pair.west)
    with relay(direct, 1280) as narrow:
        readdress(pair.east, direct, narrow)
        finding = at_best(lambda: peer_problem(pair.east), lambda found: found["found"].endswith(LOST))
        assert finding["found"].endswith(LOST)
        assert "net.ipv4.tcp_mtu_probing = 1" in finding["remedy"]
        _, findings = examine(pair.east)
        assert level(findings, "MTU probing") == "attention"
        drain(pair.west)


def test_somebody_who_speaks_no_tls(bed: Bed) -> None:
    def answer(listener: socket.socket) -> None:
        with listener.accept()[0] as connection:
            connection.recv(1)
            connection.sendall(b"220 mail.example ESMTP\r\n")
            connection.recv(1 << 20)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,), daemon=True)
        thread.start()
        finding = peer_problem(bed.site("east", {"west": listener.getsockname()}))
        thread.join()
    assert "TLS fails (TLS failed: " in finding["found"]


def test_certificates_that_cannot_be_used(bed: Bed) -> None:
    """All mistakes are findings; peers are then only connected to."""
    pair = bed.pair(NOBODY)
    pair.west.start()
    pair.west.wait_ready()
    make(bed.directory / "east", "east", days=(-9, -1))
    (bed.directory / "east.key").chmod(0o644)
    code, findings = examine(pair.east)
    assert code == ExitCode.FAILED
    assert (level(findings, "identity.certificate"), level(findings, "identity.key")) == ("problem", "problem")
    assert findings["identity.key"]["remedy"] == f"chmod 600 {bed.directory / 'east.key'}"
    assert "own certificate" not in findings
    assert level(findings, "peer west") == "attention"
    assert level(findings, "certificate of west") == "ok"
    drain(pair.west)


def test_a_certificate_that_ends_soon(bed: Bed) -> None:
    pair = bed.pair(NOBODY)
    make(bed.directory / "west", "west", days=(-1, 20))
    _, findings = examine(pair.east)
    assert level(findings, "certificate of west") == "attention"
    assert "isthmus keygen --site west" in findings["certificate of west"]["remedy"]


def test_listen_addresses_that_cannot_be_had(bed: Bed) -> None:
    pair = bed.pair(NOBODY)
    with socket.create_server(pair.entrance):
        code, findings = examine(pair.east)
        assert (code, level(findings, "forward array")) == (ExitCode.FAILED, "problem")
        assert "in use by another program" in findings["forward array"]["found"]
    readdress(pair.east, pair.entrance, ("192.0.2.77", pair.entrance[1]))
    _, findings = examine(pair.east)
    assert "is not an address of this host" in findings["forward array"]["found"]


def test_a_file_that_was_changed_since_the_site_started(bed: Bed) -> None:
    pair = bed.pair(NOBODY)
    pair.east.start()
    pair.east.wait_ready()
    readdress(pair.east, pair.entrance, ("127.0.0.1", free_port()))
    _, findings = examine(pair.east)
    assert findings["forward array"]["remedy"] == "isthmus reload"
    assert level(findings, "tunnel to west") == "problem"
    drain(pair.east)


@pytest.mark.patient
@pytest.mark.slow
@pytest.mark.typed("west")
def test_a_site_that_hangs(bed: Bed) -> None:
    """Its addresses are its own all the same, and not another program's."""
    pair = bed.pair(NOBODY, store={"mode": "disk"})
    pair.west.start()
    pair.west.wait_ready()
    pair.west.signal(signal.SIGSTOP)
    code, findings = examine(pair.west)
    pair.west.signal(signal.SIGCONT)
    assert (code, level(findings, "running site")) == (ExitCode.FAILED, "problem")
    assert f"it seems to run as process {pair.west.pid} and does not answer: " in findings["running site"]["found"]
    assert "no answer within 15 s" in findings["running site"]["found"]
    assert f"kill -KILL {pair.west.pid}" in findings["running site"]["remedy"]
    for about in ("tunnel listener", "status listener"):
        assert level(findings, about) == "ok"
        assert "by the site that does not answer" in findings[about]["found"]
    assert "peer east" not in findings, "it need not be started"
    drain(pair.west)


def _hang_up(listener: socket.socket) -> None:
    listener.accept()[0].close()


def test_another_program_at_the_status_listener(bed: Bed) -> None:
    east = bed.pair(NOBODY).east
    with socket.create_server(("127.0.0.1", east.status_port)) as listener:
        listener.settimeout(PATIENCE)
        thread = threading.Thread(target=_hang_up, args=(listener,), daemon=True)
        thread.start()
        _, findings = examine(east)
        thread.join()
    assert "running site" not in findings
    assert "in use by another program" in findings["status listener"]["found"]


def test_tables_for_a_terminal(bed: Bed) -> None:
    """Remedies are not broken into lines, so that they can be copied."""
    pair = bed.pair(NOBODY)
    shown = subprocess.run(
        isthmus("doctor", str(pair.east.config)), env=environment(), capture_output=True, text=True, check=False
    )
    assert shown.returncode == ExitCode.FAILED
    (remedy,) = [line for line in shown.stdout.splitlines() if "start isthmus serve on" in line]
    assert remedy.lstrip().startswith("→ start isthmus serve on 127.0.0.1, with tunnel.listen on port ")
    assert shown.stdout.rstrip().endswith("1 problem")


@pytest.mark.parametrize("words", [("--rate", "fast"), ("--round-trip", "0s")])
def test_one_clear_error(bed: Bed, words: tuple[str, str]) -> None:
    done = forked.isthmus("doctor", str(bed.pair(NOBODY).east.config), *words)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert done.stderr.startswith(f"isthmus: {words[0]} '{words[1]}' is ")


def test_a_private_authority(bed: Bed) -> None:
    """Its certificate is looked at as well, and whether ours has the site's name."""
    authority = Authority(bed.directory)
    authority.sign("mallory", "east")
    east = bed.site("east", {"west": NOBODY})
    authority.recognise_by(east)
    done = forked.isthmus("doctor", str(east.config), "--json")
    findings = json.loads(done.stdout)["findings"]
    said = [(finding["about"], finding["level"]) for finding in findings]
    assert ("certificate of the CA", "attention") in said, "it ends in ten days"
    assert [finding["found"] for finding in findings if "not for east" in finding["found"]] == [
        "it is for mallory, not for east: who does not pin it refuses it"
    ]


def test_a_key_that_tls_refuses(bed: Bed) -> None:
    """It is sound by itself, but too short."""
    east = bed.site("east", {"west": NOBODY})
    make(bed.directory / "east", "east", key=ec.generate_private_key(ec.SECP192R1()), days=(-1, 400))
    code, findings = examine(east)
    assert (code, level(findings, "identity")) == (ExitCode.FAILED, "problem")
    assert "key too small" in findings["identity"]["found"]
