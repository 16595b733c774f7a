"""Cuts one direction of a connection into spans: records of the header sequence, bytes of the payload sequence.

A header, and data that a record carries, wait until they are whole: an iSCSI receiver can do nothing with half of
them. Payload goes as it comes. From the first byte that does not parse, the rest of the direction goes as it is.
"""

from collections.abc import Callable

from proxy.iscsi.connection import Connection
from proxy.iscsi.digest import crc32c, digest_bytes, digest_of
from proxy.iscsi.pdu import (
    BASIC_BYTES,
    BUFFER_OFFSET,
    CONTINUED,
    DIGEST_BYTES,
    HAS_STATUS,
    OPCODE_MASK,
    TASK_TAG,
    Opcode,
    Sender,
    first_bytes_of,
)
from proxy.iscsi.record import (
    AS_IS,
    DATA_DIGEST,
    DATA_MAX,
    HEADER_DIGEST,
    PAYLOAD,
    PLAIN,
    TAIL,
    computed_tail,
    tail_length,
)
from proxy.iscsi.scsi import Access
from proxy.iscsi.span import Address, Spans

_COMMAND, _DATA_OUT, _DATA_IN = int(Opcode.SCSI_COMMAND), int(Opcode.DATA_OUT), int(Opcode.DATA_IN)
_DATA = frozenset((_COMMAND, _DATA_OUT, _DATA_IN))
"""Opcodes of PDUs that may carry a volume's data."""
_OTHER = Access.OTHER
_FIRST = {Sender.INITIATOR: b"\x43", Sender.TARGET: b"\x23\x3f"}
"""Byte 0 of a side's first PDU: a Login Request; a Login Response or a Reject."""
_LOGINS = frozenset((int(Opcode.LOGIN_REQUEST), int(Opcode.LOGIN_RESPONSE)))
_MAY_BEGIN = {sender: first_bytes_of(sender) for sender in Sender}
"""Byte 0 of a side's PDUs."""
_NON_LOGINS = {
    sender: frozenset(first for first in firsts if first & OPCODE_MASK not in _LOGINS)
    for sender, firsts in _MAY_BEGIN.items()
}
"""Byte 0 of a side's PDUs that are no logins."""
_ADDITIONAL_AND_LENGTH = slice(4, 8)
_SHAPE = slice(0, TASK_TAG.stop)
"""The part of a header that is equal in those data PDUs of a task that are cut alike; behind it are counters, and the
offset of the data."""
_NAME = b"InitiatorName="
"""The text of a connection's first Login Request has it (13.5)."""
_NO_LOGIN = "no Login Request at the beginning"
_NO_ANSWER = "no Login Response at the beginning"
_NAMELESS = "a first login that does not name the initiator"
_SOME_LENGTH = 32 << 10
"""Bytes of a PDU's payload from which on reads are made to end with PDUs; of shorter PDUs many are read at once."""
_BYTE = [bytes((n,)) for n in range(256)]


class Framer:
    """One direction of one connection, where its array's bytes come in. Loop thread.

    While `held` is not 0, the owner has to watch whether the source goes on (`total`), and to `give_up` if it does not.
    """

    def __init__(self, connection: Connection, sender: Sender) -> None:
        """`connection` is shared with this site's `Weaver` of the other direction."""
        self.total = 0
        """Bytes received."""
        self.fallen: str | None = None
        """Why the rest of this direction goes as it is; None as long as it does not."""
        self.pdus = 0
        """PDUs whose header was cut."""
        self.wrong_digests = 0
        """Data digests that were wrong on arrival."""
        self.connection = connection
        self._sender = sender
        self._non_logins = _NON_LOGINS[sender]
        self._recognised = False
        self._now = 0.0
        self._need = BASIC_BYTES  # bytes that are gathered before `_stage` is called with them
        self._stage: Callable[[bytes, Spans], None] = self._basic
        self._held = bytearray()
        self._length = 0  # of the data segment
        self._flags = 0
        self._left = 0  # payload bytes to come of this PDU
        self._payload_length = 0  # of the last PDU that has payload
        self._shape = b""  # of the last PDU, if one that begins with the same is cut in the same way
        self._start: Address | None = None  # the address from which its buffer offset counts
        self._crc = 0
        self._last = b""  # header of a Data-In whose status passes with the last of its payload
        self._address: Address | None = None

    @property
    def held(self) -> int:
        """Bytes that wait until the header or record that they belong to is whole."""
        return len(self._held)

    @property
    def awaited(self) -> int:
        """How many bytes to read to have a long PDU's payload whole, and the header behind it.

        It is the PDU whose payload is under way, or otherwise the next one, taken to be like the last. 0 if payloads
        are short: then it does not matter where a read ends.
        """
        if self._payload_length < _SOME_LENGTH:
            return 0
        header = self.connection.header_bytes
        if not self._left:
            return self._need - len(self._held) + self._payload_length + header
        return self._left + self._need + (0 if self._stage == self._basic else header)

    @property
    def announced(self) -> int:
        """Bytes of payload that are still to come of the PDU under way, as its header says."""
        return self._left

    @property
    def usual_length(self) -> int:
        """Bytes of a PDU with payload like the last one."""
        return self._payload_length + self.connection.header_bytes

    def receive(self, data: memoryview, now: float, spans: Spans) -> None:
        """Tell `spans` what these bytes complete, wherever they are cut; payload views point into `data`."""
        self._now = now
        at, end = 0, len(data)
        self.total += end
        while at < end:
            if left := self._left:
                piece = data[at : at + left]
                if self._flags & DATA_DIGEST:
                    self._crc = crc32c(piece, self._crc)
                spans.payload(piece, self._address)
                at += left
                if at <= end:
                    self._left = 0
                    if self._last:
                        self.connection.passed(self._sender, self._last, b"", now)
                        self._last = b""
                else:
                    self._left = at - end
                    if self._address is not None:
                        self._address += left - self._left
            elif self.fallen is not None:
                spans.payload(data[at:], None)
                break
            elif not self._held and self._recognised and at + self._need <= end:
                start, at = at, at + self._need
                self._stage(data[start:at].tobytes(), spans)
            else:
                piece = data[at : at + self._need - len(self._held)]
                at += len(piece)
                self._gather(piece, spans)

    def pause(self, spans: Spans) -> None:
        """The source pauses: bytes that are not known to be iSCSI may not be held back, and go as they are."""
        if self._held and not self._recognised and not self.connection.begun and self._stage == self._basic:
            self._fall_back(_NO_LOGIN, self._taken(), spans)

    def give_up(self, spans: Spans) -> None:
        """The source has ended, or stopped within a PDU for too long: if bytes are held, they and the rest go as they
        are."""
        held = self._taken()
        if not held:
            return
        if self._stage == self._tail:
            spans.record(bytes((TAIL | AS_IS, len(held))) + held, 0)
            held = b""
        self._fall_back("the array stopped within a PDU", held, spans)

    def _taken(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held

    def _gather(self, piece: memoryview, spans: Spans) -> None:
        if not self._recognised and not self._held and not self._may_begin(piece[0]):
            answers = self._sender is Sender.TARGET and self.connection.begun
            self._fall_back(_NO_ANSWER if answers else _NO_LOGIN, bytes(piece), spans)
            return
        self._held += piece
        if len(self._held) == self._need:
            self._stage(self._taken(), spans)

    def _may_begin(self, first: int) -> bool:
        return first in _FIRST[self._sender] and (self._sender is Sender.INITIATOR or self.connection.begun)

    def _wait(self, whole: bytes, need: int, stage: Callable[[bytes, Spans], None]) -> None:
        """Go on with `stage` once `need` bytes are there, of which `whole` are the first."""
        self._held += whole
        self._need = need
        self._stage = stage

    def _basic(self, header: bytes, spans: Spans) -> None:
        """The basic header is there, and if headers have a digest, four bytes more."""
        if header[_SHAPE] == self._shape and not self.connection.opaque:
            self.pdus += 1
            if self._start is not None:
                self._address = self._start + int.from_bytes(header[BUFFER_OFFSET])
            self._left = length = self._length
            if self._flags & DATA_DIGEST or length & 3:
                self._await_tail()  # otherwise a header is awaited, as it was
            spans.record(_BYTE[self._flags] + header, length)
            return
        self._shape = b""
        lengths = int.from_bytes(header[_ADDITIONAL_AND_LENGTH])
        self._length = lengths & 0xFFFFFF
        if not self._recognised or header[0] not in self._non_logins or self.connection.opaque:
            wrong = self._wrong(header, lengths)
            if wrong:
                self._fall_back(wrong, header, spans)
                return
            self._recognised = self._recognised or self.connection.begun  # otherwise its text decides: see `_inline`
        need = self.connection.header_bytes + (lengths >> 24) * 4
        if len(header) < need:
            self._wait(header, need, self._header)
        else:
            self._header(header, spans)

    def _wrong(self, header: bytes, lengths: int) -> str:
        """Why this cannot be the header of a PDU of this side, at this time; empty if it may be."""
        if header[0] not in _MAY_BEGIN[self._sender]:
            return f"no PDU begins with {header[0]:#04x}"
        if header[0] & OPCODE_MASK in _LOGINS and not _is_login(header, lengths):
            return "a login that is none"
        if not self.connection.begun and not self._length:
            return _NAMELESS
        return self.connection.opaque

    def _header(self, header: bytes, spans: Spans) -> None:
        """The whole header is there, with its digest if it has one."""
        whole, flags = header, 0
        if self.connection.header_digest:
            if digest_of(header[:-DIGEST_BYTES]) != header[-DIGEST_BYTES:]:
                self._fall_back("a wrong header digest", header, spans)
                return
            header, flags = header[:-DIGEST_BYTES], HEADER_DIGEST
        self.pdus += 1
        opcode = header[0] & OPCODE_MASK
        if opcode == _COMMAND:
            self.connection.passed(self._sender, header, b"", self._now)
        if not self._length:
            self._record(_BYTE[flags] + header, spans)
            if opcode != _COMMAND:
                self.connection.passed(self._sender, header, b"", self._now)
            return
        if self.connection.data_digest:
            flags |= DATA_DIGEST
        if self._is_payload(opcode, header):
            self._flags = flags | PAYLOAD
            self._begin_payload(header, spans)
            self._follow(opcode, whole)
        else:
            self._flags = flags
            self._wait(whole, len(whole) + self._length + tail_length(flags, self._length), self._inline)

    def _follow(self, opcode: int, whole: bytes) -> None:
        """Tell the connection of a PDU whose data goes as payload: if it has a status, only once all data has passed.

        Of a Data-Out or Data-In without status there is nothing to tell.
        """
        if opcode == _DATA_IN and whole[1] & HAS_STATUS:
            self._last = whole
        elif opcode not in _DATA:
            self.connection.passed(self._sender, whole, b"", self._now)
        elif opcode != _COMMAND and len(whole) == BASIC_BYTES and self.connection.full_feature:
            self._shape = whole[_SHAPE]  # no digest can begin after this

    def _is_payload(self, opcode: int, header: bytes) -> bool:
        """True if the PDU's data goes as payload; notes the address at which it belongs."""
        self._address = self._start = None
        if opcode not in _DATA:
            return self._length > DATA_MAX
        task = self.connection.tasks.find(header)
        if task is None:
            return True
        if task.access is _OTHER:
            return self._length > DATA_MAX
        self._address = self._start = task.start
        if task.start is not None and opcode != _COMMAND:
            self._address = task.start + int.from_bytes(header[BUFFER_OFFSET])
        return True

    def _begin_payload(self, header: bytes, spans: Spans) -> None:
        """Payload of `_length` bytes begins, of a PDU with `_flags`."""
        flags, length = self._flags, self._length
        self._left = self._payload_length = length
        if length & 3 or flags & DATA_DIGEST:
            self._await_tail()
        else:
            self._need, self._stage = self.connection.header_bytes, self._basic
        spans.record(_BYTE[flags] + header, length)

    def _await_tail(self) -> None:
        """Payload begins that has padding or a digest behind it: gather these as its tail."""
        self._crc = 0
        self._need, self._stage = tail_length(self._flags, self._length), self._tail

    def _tail(self, tail: bytes, spans: Spans) -> None:
        """The padding and digest of a payload are there."""
        if self._as_computed(tail, self._crc):
            self._record(_BYTE[TAIL], spans)
        else:
            self._record(bytes((TAIL | AS_IS, len(tail))) + tail, spans)

    def _inline(self, pdu: bytes, spans: Spans) -> None:
        """A whole PDU is there whose data goes in its record."""
        flags = self._flags
        end = len(pdu) - tail_length(flags, self._length)
        start = end - self._length
        header = pdu[: start - DIGEST_BYTES] if flags & HEADER_DIGEST else pdu[:start]
        data, tail = pdu[start:end], pdu[end:]
        if not (self._recognised or _NAME in data or header[1] & CONTINUED):
            self._fall_back(_NAMELESS, pdu, spans)
            return
        self._recognised = True
        crc = crc32c(data) if flags & DATA_DIGEST else 0
        if self._as_computed(tail, crc):
            self._record(_BYTE[flags] + header + data, spans)
        else:
            self._record(_BYTE[flags | AS_IS] + header + data + tail, spans)
        if header[0] & OPCODE_MASK != _COMMAND:
            self.connection.passed(self._sender, header, data, self._now)

    def _as_computed(self, tail: bytes, crc: int) -> bool:
        """True if the far side would compute the same tail. `crc`: the data's. Counts wrong digests."""
        if tail == computed_tail(self._flags, self._length, crc):
            return True
        if self._flags & DATA_DIGEST:
            pad, digest = tail[:-DIGEST_BYTES], tail[-DIGEST_BYTES:]
            self.wrong_digests += digest_bytes(crc32c(pad, crc)) != digest
        return False

    def _record(self, record: bytes, spans: Spans) -> None:
        """Pass on a record that ends a PDU: a header is awaited next."""
        spans.record(record, 0)
        self._need, self._stage = self.connection.header_bytes, self._basic

    def _fall_back(self, reason: str, held: bytes, spans: Spans) -> None:
        self.fallen = reason
        self.connection.lose_sight()
        spans.record(_BYTE[PLAIN], 0)
        if held:
            spans.payload(memoryview(held), None)


def _is_login(header: bytes, lengths: int) -> bool:
    """True if a Login Request or Response may look so: no additional headers, a text that fits into a record, version
    0, and a stage that exists (11.12, 11.13)."""
    return lengths <= DATA_MAX and not header[3] and header[1] >> 2 & 3 != 2
