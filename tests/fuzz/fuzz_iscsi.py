"""Whatever two arrays say is carried exactly; whatever a peer sends is woven or refused with the error declared for it;
whatever a target names, what an initiator is told instead is a whole PDU.

    python tests/fuzz/fuzz_iscsi.py [CORPUS] [-max_total_time=SECONDS]

Coverage-guided, by atheris; what CORPUS holds is where it begins. The first byte of an input chooses what it is taken
for. `test_fuzz_iscsi.py` gives it a short run.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["proxy.iscsi"]):
    from proxy.iscsi.connection import Connection
    from proxy.iscsi.errors import RecordError
    from proxy.iscsi.framer import Framer
    from proxy.iscsi.pdu import DIGEST_BYTES, Opcode, Sender
    from proxy.iscsi.portals import Portal
    from proxy.iscsi.prediction import Predictor, Restorer
    from proxy.iscsi.record import DATA_MAX, SHORTEST_PDU, TAIL_MAX
    from proxy.iscsi.weaver import Weaver
    from tests.unit.iscsi.sites import Cut, OneForAll, Pair

from tests.unit.iscsi.pdus import digests, login, login_answer, pdu

RECORD_MAX = SHORTEST_PDU + 1020 + DATA_MAX + TAIL_MAX
"""With all the additional headers that a PDU may have."""


def steps(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Each with a byte of kind and a byte of length."""
    at = 0
    while at + 2 <= len(content):
        length = content[at + 1]
        yield content[at], content[at + 2 : at + 2 + length]
        at += 2 + length


def conversation(content: bytes) -> None:
    """Bytes of both sides, from byte one: pieces as they come, pauses between some."""
    exact(Pair(), content)


def full_feature(content: bytes) -> None:
    """The same after a login that agreed on digests as the first byte says."""
    pair = Pair()
    keys = digests(bool(content[:1] > b"\x55"), bool(content[:1] > b"\xaa"))
    pair.log_in(keys)
    exact(pair, content[1:])


def exact(pair: Pair, content: bytes) -> None:
    digested = pair.near.header_digest, pair.near.data_digest
    said = dict.fromkeys(Sender, b"")
    heard = dict.fromkeys(Sender, b"")
    for kind, piece in steps(content):
        sender = Sender.TARGET if kind & 1 else Sender.INITIATOR
        # Fuzzing finds no digests by itself: some pieces are made into PDUs that have them.
        sent = whole_pdu(piece, *digested) if kind & 2 else piece
        said[sender] += sent
        heard[sender] += pair.direction(sender).send(sent, 1 + (kind >> 3) * 5)
        if kind & 4:
            heard[sender] += pair.direction(sender).pause()
        missing = len(said[sender]) - len(heard[sender])
        assert missing == pair.direction(sender).framer.held <= RECORD_MAX + DIGEST_BYTES
        if kind & 4 and kind & 8:
            heard[sender] += pair.direction(sender).give_up()
            assert heard[sender] == said[sender]
    for sender in Sender:
        assert heard[sender] + pair.direction(sender).finish() == said[sender]


def whole_pdu(piece: bytes, header_digest: bool, data_digest: bool) -> bytes:
    head = piece[:32].ljust(32, b"\0")
    return pdu(
        head[0],
        head[1],
        lun=head[2],
        tag=head[3],
        rest=head[4:],
        data=piece[32:],
        header_digest=header_digest,
        data_digest=data_digest,
        flip=head[4] & 1,
    )


def sections(content: bytes) -> None:
    """A peer's sections and payload."""
    restorer, predictor = Restorer(), Predictor()
    weaver = Weaver(Connection(), Sender.INITIATOR)
    for kind, piece in steps(content):
        if kind & 1:
            weaver.payload([memoryview(piece)])
        else:
            records = restorer.restore(piece, 1 << 20)
            weaver.records(records)
            again = b"".join(map(predictor.predict, records))
            assert Restorer().restore(b"".join(map(Predictor().predict, records)), 1 << 20) == records
            assert len(again) <= len(piece) + 50 * len(records)
        weaver.take(0.0)


def texts(content: bytes) -> None:
    """Texts of a target, in PDUs that go on in others or not, with digests as the first byte says."""
    agreed = bool(content[:1] > b"\x55"), bool(content[:1] > b"\xaa")
    keys = digests(*agreed)
    said = [
        pdu(
            Opcode.TEXT_RESPONSE, kind & 0xC0, data=piece, header_digest=agreed[0], data_digest=agreed[1], flip=kind & 1
        )
        for kind, piece in steps(content[1:])
    ]
    for portal in (None, Portal("10.255.255.255", 65535), Portal("a", 1)):
        pair = Pair(portals=OneForAll(portal))
        pair.out.send(login(keys))
        heard = pair.back.send(login_answer(keys)) + b"".join(map(pair.back.send, said))
        assert portal or heard == login_answer(keys) + b"".join(said)
        whole(heard, keys, said)


def whole(heard: bytes, keys: bytes, said: list[bytes]) -> None:
    """As an initiator reads it."""
    connection = Connection()
    Framer(connection, Sender.INITIATOR).receive(memoryview(login(keys)), 0.0, Cut())
    initiator = Framer(connection, Sender.TARGET)
    initiator.receive(memoryview(heard), 0.0, Cut())
    assert initiator.fallen is None
    assert initiator.held == 0
    assert initiator.pdus == 1 + len(said)


TARGETS: list[Callable[[bytes], None]] = [conversation, full_feature, sections, texts]


def one_input(content: bytes) -> None:
    """Take it for what its first byte says."""
    if not content:
        return
    with suppress(RecordError):
        TARGETS[content[0] % len(TARGETS)](content[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
