"""The bench's own initiator: digests, PDUs and keys as RFC 7143 has them, and a target of a few lines to talk to."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from bench.initiator import cdb
from bench.initiator.initiator import Initiator, Protocol, Write
from bench.initiator.login import LoginRefused, Wishes, encode_keys, log_in, pairs
from bench.initiator.pdu import FINAL, Digests, Opcode, Pdu, Reader, WrongDigest, digest, lun_field, words
from tests.patience import PATIENCE

GOOD_LOGIN = Pdu(Opcode.LOGIN_RESPONSE, FINAL | 7, data=encode_keys({"ImmediateData": "No"}))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (bytes(32), "aa36918a"),
        (b"\xff" * 32, "43aba862"),
        (bytes(range(32)), "4e79dd46"),
        (bytes(range(31, -1, -1)), "5cdb3f11"),
        (bytes.fromhex("01c00000" + "00" * 12 + "14000000000004000000001400000018280000000000000002000000") + bytes(4),
         "563a96d9"),
    ],
    ids=["zeros", "ones", "rising", "falling", "a read"],
)  # fmt: skip
def test_digests_are_those_of_the_rfc(data: bytes, expected: str) -> None:
    """RFC 7143, appendix A.4: CRC examples."""
    assert digest(data).hex() == expected


@pytest.mark.parametrize("digests", [Digests(), Digests(header=True), Digests(data=True), Digests(True, True)], ids=str)
@pytest.mark.parametrize("data", [b"", b"x", b"four", b"five!"])
def test_what_is_encoded_is_read(digests: Digests, data: bytes) -> None:
    pdu = Pdu(Opcode.DATA_IN, FINAL, 0x1234, lun_field(3), 77, words(1, 2, 3, 4, 5, 6, 7), data, ahs=b"ahs!")
    encoded = b"".join(pdu.encode(digests))
    assert len(encoded) % 4 == 0
    assert read(encoded, digests) == pdu
    assert [pdu.word(offset) for offset in range(20, 48, 4)] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(("at", "what"), [(10, "header"), (48, "header"), (53, "data"), (60, "data")])
def test_a_wrong_digest_is_named(at: int, what: str) -> None:
    both = Digests(header=True, data=True)
    encoded = bytearray(b"".join(Pdu(Opcode.NOP_IN, data=b"five!").encode(both)))
    encoded[at] ^= 1
    with pytest.raises(WrongDigest, match=what):
        read(bytes(encoded), both)


def read(encoded: bytes, digests: Digests) -> Pdu:
    """From a socket, as it comes."""
    one, other = socket.socketpair()
    with one, other:
        reader = Reader(other)
        reader.digests = digests
        one.sendall(encoded)
        return reader.read()


def test_keys_keep_their_order_and_repeat() -> None:
    data = b"TargetName=a\0TargetAddress=1\0TargetName=b\0"
    assert list(pairs(data)) == [("TargetName", "a"), ("TargetAddress", "1"), ("TargetName", "b")]
    assert encode_keys({"A": "1", "B": "x=y"}) == b"A=1\0B=x=y\0"


def test_chap_proves_the_secret_without_saying_it() -> None:
    """The example's response is MD5 of identifier, secret and challenge (RFC 1994)."""
    asked: list[dict[str, str]] = []

    def ask(pdu: Pdu) -> Pdu:
        asked.append(dict(pairs(pdu.data)))
        challenge = {"CHAP_A": "5", "CHAP_I": "7", "CHAP_C": "0x00ff"} if "CHAP_A" in asked[-1] else {}
        return Pdu(Opcode.LOGIN_RESPONSE, pdu.flags & FINAL, data=encode_keys(challenge))

    log_in(Wishes("iqn.x", account=("me", "secret")), ask)
    assert asked[0]["AuthMethod"] == "CHAP"
    assert asked[2] == {"CHAP_N": "me", "CHAP_R": "0x6dc91866dbb035de7f6c85e09a41bd62"}
    assert not any("secret" in value for keys in asked for value in keys.values())


def test_a_refusal_says_why() -> None:
    def refuse(pdu: Pdu) -> Pdu:
        return Pdu(Opcode.LOGIN_RESPONSE, rest=bytes(16) + bytes([2, 3]) + bytes(10))

    with pytest.raises(LoginRefused, match="class 2, detail 3"):
        log_in(Wishes("iqn.x"), refuse)


def test_a_login_that_never_ends_is_given_up() -> None:
    with pytest.raises(ConnectionError, match="does not leave stage 0"):
        log_in(Wishes("iqn.x"), lambda pdu: Pdu(Opcode.LOGIN_RESPONSE, 0))


def test_commands_have_the_layout_of_the_standards() -> None:
    assert cdb.read(0x01020304, 5).hex() == "28000102030400000500"
    assert cdb.write_long(1, 2).hex() == "8a000000000000000001000000020000"
    assert cdb.read_short(0x012345, 256).hex() == "080123450000"
    assert cdb.inquiry(page=0x83).hex() == "120183006000"
    assert cdb.sense(bytes.fromhex("0012" + "700005" + "00" * 9 + "2400" + "0000")) == (5, 0x2400)
    assert cdb.sense(b"") is None


@contextmanager
def target(behave: Callable[[Reader, socket.socket], None]) -> Iterator[Initiator]:
    """An initiator that is logged in at a target; `behave` is what the target does then."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                reader = Reader(connection)
                for _ in range(2):
                    say(connection, GOOD_LOGIN._replace(flags=reader.read().flags, rest=words(0, 0, 1, 9)))
                behave(reader, connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with Initiator(listener.getsockname(), Wishes("iqn.x", send=1000), PATIENCE) as initiator:
            yield initiator
        thread.join()


def say(connection: socket.socket, pdu: Pdu) -> None:
    connection.sendall(b"".join(pdu.encode(Digests())))


def test_data_goes_when_it_is_asked_for() -> None:
    """In PDUs of what was wished, the offsets right, the last one marked."""
    came: list[Pdu] = []

    def ask_twice(reader: Reader, connection: socket.socket) -> None:
        command = reader.read()
        for offset, length in ((0, 1500), (1500, 36)):
            say(connection, Pdu(Opcode.READY, tag=command.tag, rest=words(9, 0, 1, 9, 0, offset, length)))
            came.append(reader.read())
            while not came[-1].flags & FINAL:
                came.append(reader.read())
        say(connection, Pdu(Opcode.RESPONSE, tag=command.tag, rest=words(0, 0, 1, 9)))

    with target(ask_twice) as initiator:
        content = bytes(range(256)) * 6
        initiator.write_all(1, [Write(0, memoryview(content))], 1)
    assert [(pdu.word(36), pdu.word(40), len(pdu.data)) for pdu in came] == [
        (0, 0, 1000),
        (1, 1000, 500),
        (0, 1500, 36),
    ]
    assert all(pdu.word(20) == 9 for pdu in came)
    assert b"".join(bytes(pdu.data) for pdu in came) == content


def test_the_window_of_commands_is_kept() -> None:
    """Beyond MaxCmdSN nothing is sent, whatever becomes of the connection."""

    def close_the_window(reader: Reader, connection: socket.socket) -> None:
        say(connection, Pdu(Opcode.RESPONSE, tag=reader.read().tag, rest=words(0, 0, 2, 1)))

    with target(close_the_window) as initiator:
        assert initiator.command(1, cdb.test_unit_ready()).status == cdb.GOOD
        before = initiator.sent
        with pytest.raises(ConnectionError):
            initiator.submit(1, cdb.test_unit_ready())
        assert initiator.sent == before


def test_an_answer_that_belongs_nowhere_is_an_error() -> None:
    def answer_another(reader: Reader, connection: socket.socket) -> None:
        say(connection, Pdu(Opcode.RESPONSE, tag=reader.read().tag + 1, rest=words(0, 0, 1, 9)))

    with target(answer_another) as initiator, pytest.raises(Protocol, match="not under way"):
        initiator.command(1, cdb.test_unit_ready())
