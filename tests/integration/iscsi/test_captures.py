"""Real conversations of qemu-img with tgt, recorded here, are framed and woven without a pair between.

They are exact in any split, all of them is understood, and the volume can be put together again from the addresses of
what was written, and from those of what was read. Needs root, tgt and qemu-img.
"""

import os
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

import bench.array
from bench.array import IQN, IscsiTarget
from bench.sites import Address
from proxy.iscsi.pdu import Sender
from tests.integration.bed.wire import Wire
from tests.patience import PATIENCE
from tests.unit.iscsi.sites import Pair, Span, byte_of

pytestmark = [pytest.mark.root, pytest.mark.serial]

SIZE = 4 << 20
Said = list[tuple[Sender, bytes]]


class Recorder(Wire):
    """Writes down who said what, in order. A context manager, as every wire."""

    def __init__(self, target: Address) -> None:
        super().__init__(target)
        self.said: Said = []

    def touch(self, data: bytes, outward: bool) -> bytes:
        self.said.append((Sender.INITIATOR if outward else Sender.TARGET, data))
        return data


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
        recorders = [stack.enter_context(Recorder(target.address)) for _ in range(2)]
        there, back = (drive(recorder.address, header_digest=request.param) for recorder in recorders)
        run("convert", "-n", "-W", "-m", "16", "-f", "raw", "--target-image-opts", str(image), there)
        copy = directory / "copy"
        run("convert", "-O", "raw", "--image-opts", back, str(copy))
        assert copy.read_bytes() == image.read_bytes()
        assert [recorder.taken for recorder in recorders] == [1, 1], "each is one connection"
    return Recorded(image.read_bytes(), request.param, [recorder.said for recorder in recorders])


@dataclass(frozen=True)
class Recorded:
    """What was written, and what was said."""

    image: bytes
    header_digest: bool
    connections: list[Said]


def run(*arguments: str) -> None:
    subprocess.run(["qemu-img", *arguments], check=True, capture_output=True, timeout=PATIENCE)


@pytest.mark.parametrize("size", [1 << 20, 1000, 61])
def test_real_conversations(conversations: Recorded, size: int) -> None:
    written, read = bytearray(SIZE), bytearray(SIZE)
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
