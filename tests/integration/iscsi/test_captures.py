"""Real conversations of qemu-img with tgt, recorded here, are framed and woven without a pair between.

They are exact in any split, all of them is understood, and the volume can be put together again from the addresses of
what was written, and from those of what was read. Needs root, tgt and qemu-img.
"""

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest

import bench.array
from bench.array import IQN, IscsiTarget
from bench.sites import Address
from proxy.iscsi.pdu import Sender
from tests.patience import PATIENCE
from tests.unit.iscsi.sites import Pair, Span, byte_of

pytestmark = [pytest.mark.root, pytest.mark.serial]

SIZE = 4 << 20
Said = list[tuple[Sender, bytes]]


class Recorder:
    """A TCP relay that writes down who said what, in order; a list for each connection."""

    def __init__(self, target: Address) -> None:
        self.connections: list[Said] = []
        self._target = target
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: Address = self._listener.getsockname()

    def __enter__(self) -> "Recorder":
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                initiator, _ = self._listener.accept()
                said: Said = []
                self.connections.append(said)
                self._start(self._connection, initiator, said)

    def _connection(self, initiator: socket.socket, said: Said) -> None:
        with initiator, socket.create_connection(self._target) as target:
            back = self._start(self._pass, target, initiator, Sender.TARGET, said)
            self._pass(initiator, target, Sender.INITIATOR, said)
            back.join(PATIENCE)

    def _pass(self, source: socket.socket, to: socket.socket, sender: Sender, said: Said) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                said.append((sender, data))
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_WR)

    def _start(self, work: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread


def drive(address: Address, *, header_digest: bool) -> str:
    """What qemu-img calls the unit at an address."""
    host, port = address
    digest = "crc32c" if header_digest else "none"
    return f"driver=iscsi,transport=tcp,portal={host}:{port},target={IQN},lun=1,header-digest={digest}"


@pytest.fixture(scope="module", params=[False, True], ids=["no digests", "header digests"])
def conversations(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> "Recorded":
    """A volume is written, sixteen writes at a time, and read again; with PDUs of 8 KiB."""
    if lacking := IscsiTarget.lacking():
        pytest.skip(lacking)
    digest = "CRC32C,None" if request.param else "None"
    directory = tmp_path_factory.mktemp("t")
    image = directory / "image"
    image.write_bytes(os.urandom(SIZE))
    with ExitStack() as stack:
        parameters = {"MaxRecvDataSegmentLength": 8192, "HeaderDigest": digest}
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(bench.array, "PARAMETERS", parameters)
        target = stack.enter_context(IscsiTarget(directory, [SIZE]))
        recorder = stack.enter_context(Recorder(target.address))
        unit = drive(recorder.address, header_digest=request.param)
        run("convert", "-n", "-W", "-m", "16", "-f", "raw", "--target-image-opts", str(image), unit)
        copy = directory / "copy"
        run("convert", "-O", "raw", "--image-opts", unit, str(copy))
        assert copy.read_bytes() == image.read_bytes()
    return Recorded(image.read_bytes(), request.param, recorder.connections)


class Recorded:
    """What was written, and what was said."""

    def __init__(self, image: bytes, header_digest: bool, connections: list[Said]) -> None:
        self.image = image
        self.header_digest = header_digest
        self.connections = connections


def run(*arguments: str) -> None:
    subprocess.run(["qemu-img", *arguments], check=True, capture_output=True, timeout=PATIENCE)


@pytest.mark.parametrize("size", [1 << 20, 1000, 61])
def test_real_conversations(conversations: Recorded, size: int) -> None:
    written, read = bytearray(SIZE), bytearray(SIZE)
    assert len(conversations.connections) == 2
    for said in conversations.connections:
        pair = Pair()
        came = dict.fromkeys(Sender, b"")
        for sender, data in said:
            direction = pair.direction(sender)
            came[sender] += direction.send(data, size)
            assert direction.framer.total - direction.came == direction.framer.held
            into(written if sender is Sender.INITIATOR else read, direction.payload())
        for sender in Sender:
            assert pair.direction(sender).framer.fallen is None
            assert came[sender] == b"".join(data for by, data in said if by is sender)
        assert pair.near.full_feature
        assert pair.near.header_digest == pair.far.header_digest == conversations.header_digest
        assert pair.near.target == IQN
    assert bytes(written) == conversations.image
    assert bytes(read) == conversations.image


def into(volume: bytearray, payload: list[Span]) -> None:
    """All payload goes where its address says."""
    for span in payload:
        assert span.address is not None
        byte = byte_of(span.address)
        volume[byte : byte + len(span.data)] = span.data
