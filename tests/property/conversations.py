"""What two arrays may say to each other, right or wrong."""

from hypothesis import strategies as st

from proxy.iscsi.pdu import Opcode, Sender, opcodes_of
from tests.unit.iscsi.pdus import INQUIRY, pdu, read_10, write_10

CDBS = st.one_of(
    st.builds(write_10, st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)),
    st.builds(read_10, st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)),
    st.just(INQUIRY),
    st.binary(min_size=16, max_size=16),
)
TAGS = st.integers(0, 7)
DATA = st.binary(max_size=70)
ADDITIONAL = st.sampled_from([b"", b"", b"", bytes(4), b"\xff" * 8])
Conversation = tuple[tuple[bool, bool], list[tuple[Sender, bytes]]]
"""Which digests are agreed on, and who says what after the login."""


@st.composite
def any_pdu(draw: st.DrawFn, sender: Sender, header_digest: bool, data_digest: bool) -> bytes:
    """Any PDU that this side may send after the login, with digests as agreed."""
    opcode = draw(st.sampled_from(sorted(opcodes_of(sender) - {Opcode.LOGIN_REQUEST, Opcode.LOGIN_RESPONSE})))
    rest = draw(st.one_of(st.builds(lambda cdb: bytes(12) + cdb.ljust(16, b"\0"), CDBS), st.binary(max_size=28)))
    return pdu(
        opcode | draw(st.sampled_from([0, 0x40] if sender is Sender.INITIATOR else [0])),
        draw(st.sampled_from([0x00, 0x80, 0x81, 0xA0])),
        lun=draw(st.sampled_from([0, 1 << 48, 2**64 - 1])),
        tag=draw(TAGS),
        rest=rest,
        additional=draw(ADDITIONAL),
        data=draw(DATA),
        header_digest=header_digest,
        data_digest=data_digest,
        padding=draw(st.sampled_from([None, None, b"\x01\x00\xff"])),
        flip=draw(st.sampled_from([0, 0, 1, 0x80])),
    )


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """What two arrays may say."""
    agreed = draw(st.tuples(st.booleans(), st.booleans()))
    senders = draw(st.lists(st.sampled_from(Sender), max_size=12))
    return agreed, [(sender, draw(any_pdu(sender, *agreed))) for sender in senders]
