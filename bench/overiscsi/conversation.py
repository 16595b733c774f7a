"""Makes both directions of an iSCSI connection as bytes beforehand: one initiator writes a volume from end to end.

After the login, what the initiator sends does not depend on when answers come. So ends can be as cheap as those for
plain bytes: the initiator sends a file, and the target answers the last byte of each command with fixed bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.array import IQN
from bench.initiator import cdb
from bench.initiator.initiator import SIMPLE, WRITES
from bench.initiator.login import FULL_FEATURE, ISID, OPERATIONAL, Wishes, encode_keys
from bench.initiator.pdu import FINAL, Digests, Opcode, Pdu, lun_field, words

LUN = lun_field(1)
TRANSITION = FINAL | OPERATIONAL << 2 | FULL_FEATURE
"""Flags of a login that goes from the operational stage straight to the full-feature phase."""
TAGS = 32
"""Task tags, which the commands use in turn: so many may be under way at once."""


@dataclass(frozen=True)
class Conversation:
    """How the volume is written. Sizes in bytes, multiples of 512; `pdu` divides `command`."""

    pdu: int = 65536
    """Data of a Data-Out PDU."""
    command: int = 1 << 20
    """Data of a command. A single R2T asks for all of it."""
    digest: bool = False
    """Whether PDUs carry header and data digests."""

    @property
    def digests(self) -> Digests:
        """Which digests PDUs carry after the login."""
        return Digests(self.digest, self.digest)

    def ahead(self, content: memoryview) -> Iterator[bytes]:
        """The initiator's side: a piece for the login, then one for each command with its data."""
        yield self._login(Opcode.LOGIN_REQUEST, words(0, 1), Wishes(IQN).names)
        for number, at in enumerate(range(0, len(content), self.command)):
            yield b"".join(self._write(number, at, content[at : at + self.command]))

    def back(self, size: int) -> Iterator[bytes]:
        """The target's side, for a volume of `size` bytes: an answer to each piece of the initiator's side."""
        status = words(0, 1, 2, 2 + TAGS)
        yield self._login(Opcode.LOGIN_RESPONSE, status, {"TargetPortalGroupTag": "1"})
        for number, at in enumerate(range(0, size, self.command)):
            length = min(self.command, size - at)
            yield b"".join(self._answer(number, length))

    def _login(self, opcode: Opcode, rest: bytes, names: dict[str, str]) -> bytes:
        name = "CRC32C" if self.digest else "None"
        wishes = Wishes(header_digest=name, data_digest=name, max_burst=self.command)
        keys = names | dict(wishes.operational)
        request = opcode == Opcode.LOGIN_REQUEST
        pdu = Pdu(opcode, TRANSITION, 0, ISID, 0, rest, encode_keys(keys), request)
        return b"".join(pdu.encode(Digests()))

    def _write(self, number: int, at: int, data: memoryview) -> Iterator[bytes | memoryview]:
        tag = _tag(number)
        block = cdb.write_long(at // cdb.SECTOR, len(data) // cdb.SECTOR)
        rest = words(len(data), number + 1, number + 2)[:12] + block
        yield from Pdu(Opcode.COMMAND, FINAL | WRITES | SIMPLE, 0, LUN, tag, rest).encode(self.digests)
        for part, offset in enumerate(range(0, len(data), self.pdu)):
            piece = data[offset : offset + self.pdu]
            flags = FINAL if offset + len(piece) == len(data) else 0
            rest = words(number, 0, number + 2, 0, part, offset)
            yield from Pdu(Opcode.DATA_OUT, flags, 0, LUN, tag, rest, piece).encode(self.digests)

    def _answer(self, number: int, length: int) -> Iterator[bytes | memoryview]:
        """The R2T and the status of a command, which come together: the initiator has sent the data already."""
        window = (number + 2, number + 2 + TAGS)
        ready = words(number, number + 2, *window, 0, 0, length)
        yield from Pdu(Opcode.READY, FINAL, 0, LUN, _tag(number), ready).encode(self.digests)
        done = words(0, number + 2, *window)
        yield from Pdu(Opcode.RESPONSE, FINAL, 0, tag=_tag(number), rest=done).encode(self.digests)


def _tag(number: int) -> int:
    return 1 + number % TAGS
