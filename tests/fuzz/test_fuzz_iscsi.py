"""A short run of the coverage-guided fuzzer over iSCSI connections and records, beginning with real PDUs."""

from collections.abc import Iterable
from pathlib import Path

from proxy.iscsi.pdu import Opcode
from proxy.iscsi.prediction import Predictor
from proxy.iscsi.record import PAYLOAD, PLAIN, TAIL
from tests.fuzz.short_run import needs_atheris, short_run
from tests.unit.iscsi.pdus import command, data_in, data_out, digests, login, login_answer, pdu, read_10, write_10

CONVERSATION, FULL_FEATURE, SECTIONS, TEXTS = b"\x00", b"\x01", b"\x02", b"\x03"
OUT, BACK, MADE, PAUSED = 0, 1, 2, 4


def step(kind: int, piece: bytes) -> bytes:
    return bytes((kind, len(piece))) + piece


def inputs() -> Iterable[bytes]:
    keys = digests(True, True)
    begin = step(OUT, login(keys)) + step(BACK, login_answer(keys))
    write = step(OUT, command(1, write_10(8, 1), b"data!")) + step(OUT, data_out(1, b"more"))
    read = step(OUT, command(2, read_10(8, 1))) + step(BACK | PAUSED, data_in(2, b"data", status=True))
    yield CONVERSATION + begin + write
    yield CONVERSATION + step(OUT, login(keys[:9], first=0x44)) + step(BACK, login_answer(first=0x04)) + write
    yield CONVERSATION + step(BACK, b"220 ready")
    for agreed in (b"\x00", b"\x60", b"\xff"):
        yield FULL_FEATURE + agreed + write + read
        yield FULL_FEATURE + agreed + b"".join(step(OUT | MADE, bytes((op,)) + bytes(40)) for op in Opcode)
    predictor = Predictor()
    records = [b"\0" + pdu(0), bytes((PAYLOAD,)) + data_out(1, b"12345")[:48], bytes((TAIL,)), bytes((PLAIN,))]
    coded = [predictor.predict(record) for record in records]
    addresses = [b"TargetAddress=10.1.0.5:3260,1\0", b"TargetName=a\0TargetAddress=[2001:db8::1]:860\0TargetAdd"]
    for agreed in (b"\x00", b"\x60", b"\xff"):
        yield TEXTS + agreed + b"".join(step(0x40, text) for text in addresses) + step(0x80, b"ress=a.example\0")
    yield SECTIONS + step(0, b"".join(coded[:2])) + step(1, b"12345") + step(0, b"".join(coded[2:])) + step(1, b"more")


@needs_atheris
def test_a_short_run(tmp_path: Path) -> None:
    short_run("fuzz_iscsi.py", tmp_path, inputs(), runs=1_500, longest=512)
