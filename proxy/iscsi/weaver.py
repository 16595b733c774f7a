"""The inverse of a `Framer`: weaves records and payload into the bytes that the other side has received."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from itertools import accumulate

from proxy.iscsi.connection import Connection
from proxy.iscsi.digest import crc32c, digest_of
from proxy.iscsi.errors import RecordError
from proxy.iscsi.pdu import HAS_STATUS, OPCODE_MASK, Opcode, Sender
from proxy.iscsi.portals import PortalTexts
from proxy.iscsi.record import (
    AS_IS,
    DATA_DIGEST,
    HEADER_AT,
    HEADER_DIGEST,
    PAYLOAD,
    PLAIN,
    SHORTEST_PDU,
    TAIL,
    computed_tail,
    tail_length,
)

WAITING_MAX = 1 << 20
"""Bytes of records that wait for payload, at most. A sender puts a record into the batch of its payload's first byte
or the one before, so far fewer are legal; this only bounds the memory that a broken peer can take."""

_DATA_OUT, _DATA_IN = int(Opcode.DATA_OUT), int(Opcode.DATA_IN)
_SHAPE = slice(0, 9)
"""The beginning of a record: its flags, and its header up to the length of the data."""
_TEXTS = frozenset((int(Opcode.LOGIN_RESPONSE), int(Opcode.TEXT_RESPONSE)))
"""Opcodes of PDUs in which a target names portals."""
_LENGTH = slice(5, 8)
"""DataSegmentLength in a header."""
_UNREAD = "it is too long, or damaged"
_GATHERED_MAX = 256 << 10
"""Bytes of a text that comes as payload, too long for a record, and is gathered so that it can be looked at as a whole.
"""


class Weaver:
    """One direction of one connection, where it goes out to an array. Loop thread.

    Feed `records` before the `payload` that they announce. After a RecordError the stream must be given up.
    """

    def __init__(self, connection: Connection, sender: Sender, texts: PortalTexts | None = None) -> None:
        """`connection` is shared with this site's `Framer` of the other direction.

        `texts`: puts this side's portals into what a target says; without it all bytes are exactly what was sent.
        """
        self.pdus = 0
        self.digests = 0
        """Digests computed here, of headers and of data."""
        self.plain = False
        """Whether the rest of this direction goes as it is."""
        self._connection = connection
        self._sender = sender
        self._texts = texts
        self._gathered: bytearray | None = None  # what has come of a long text
        self._gathered_header = b""  # the header of its PDU
        self._records: deque[bytes] = deque()
        self._payload: list[bytes | memoryview] = []
        self._ends: list[int] = []  # offsets at which these pieces end
        self._at = 0  # index of the next piece
        self._given = 0  # bytes of the pieces that are woven
        self._shape = b""  # of the last PDU's record, if the connection need not be told of one like it
        self._flags = 0
        self._length = 0
        self._left = 0  # payload bytes to come of this PDU
        self._digests = 0  # its flags for digests, if it has payload
        self._tail_length = 0  # of the last PDU that has payload
        self._tail_due = 0  # bytes of the tail for which a TAIL record has to come
        self._crc = 0
        self._now = 0.0
        self._last = b""  # header of a Data-In whose status passes with the last of its payload
        self._cut = False  # the source stopped within a tail: at most PLAIN may follow

    @property
    def waiting(self) -> int:
        """Bytes of records that cannot be woven yet, because payload that goes before them has not come."""
        return sum(map(len, self._records))

    def records(self, records: Iterable[bytes]) -> None:
        """Take whole records, in order, as `Restorer` returns them: it has checked their lengths."""
        self._records += records
        if (waiting := self.waiting) > WAITING_MAX:
            raise RecordError(f"{waiting} bytes of records wait for payload; {WAITING_MAX} are the most")

    def payload(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Take bytes of the payload sequence, in order, no piece empty. They must not change until the next `take`."""
        self._payload += pieces

    def take(self, now: float) -> list[bytes | memoryview]:
        """What is complete, in order, for the array. Raises RecordError for what no Framer writes."""
        self._now = now
        pieces: list[bytes | memoryview] = []
        records, self._ends = self._records, list(accumulate(map(len, self._payload)))
        end = self._ends[-1] if self._payload else 0
        self._at = self._given = 0
        while True:
            if self._left:
                if self._given == end:
                    break
                self._weave_payload(pieces)
            elif records:
                record = records.popleft()
                if record[_SHAPE] == self._shape and not self._tail_due:
                    self.pdus += 1
                    self._left, self._crc = self._length, 0
                    pieces.append(self._digested(record[HEADER_AT:]) if self._digests else record[HEADER_AT:])
                else:
                    self._weave(record, pieces)
            else:
                break
        if self.plain:
            pieces += self._payload[self._at :]
        elif self._given < end:
            raise RecordError("payload that no record announces")
        self._payload.clear()
        self._ends = []  # a peer may have made it long, and the stream may rest for long
        return pieces

    @property
    def gathered(self) -> int:
        """Bytes of a long text that waits to be whole, its header included; 0 if there is none."""
        return 0 if self._gathered is None else len(self._gathered_header) + len(self._gathered)

    def let_go(self) -> list[bytes | memoryview]:
        """The target stopped within a text that is gathered, or its direction ended: returns what has come of it.

        The rest of the text passes as it comes.
        """
        pieces: list[bytes | memoryview] = []
        if self._gathered is not None:
            self._release(self._gathered, pieces, unread="the target stopped within it")
        return pieces

    def _weave(self, record: bytes, pieces: list[bytes | memoryview]) -> None:
        flags = record[0]
        if self.plain or (self._cut and flags != PLAIN):
            raise RecordError("a record after the last one")
        if bool(self._tail_due) != (flags & TAIL == TAIL):
            raise RecordError("a tail that is not due, or none where one is")
        if flags & TAIL == TAIL:
            self._tail(record, pieces)
        elif flags == PLAIN:
            self.plain, self._shape = True, b""
            self._connection.lose_sight()
        else:
            self._pdu(flags, record, pieces)

    def _pdu(self, flags: int, record: bytes, pieces: list[bytes | memoryview]) -> None:
        self.pdus += 1
        self._flags = flags
        self._length = record[6] << 16 | record[7] << 8 | record[8]
        end = SHORTEST_PDU + record[5] * 4
        header = record[HEADER_AT:end]
        data = record[end : end + self._length]
        told = self._tell(header, data)
        self._shape = record[_SHAPE] if flags & PAYLOAD and end == SHORTEST_PDU and not told else b""
        if flags & PAYLOAD:
            self._left, self._crc = self._length, 0
            self._digests = flags & (HEADER_DIGEST | DATA_DIGEST)
            self._tail_length = tail_length(flags, self._length)
        if self._texts is not None and header[0] & OPCODE_MASK in _TEXTS:
            if flags & PAYLOAD and self._length <= _GATHERED_MAX:
                self._gathered, self._gathered_header = bytearray(), header
                return
            header, data = self._reworded(self._texts, header, data, _UNREAD if flags & (PAYLOAD | AS_IS) else "")
        pieces.append(self._digested(header))
        if data:
            pieces.append(record[end:] if flags & AS_IS else data + self._computed_tail(crc32c(data)))

    def _digested(self, header: bytes) -> bytes:
        """The header, with its digest if it has one."""
        if not self._flags & HEADER_DIGEST:
            return header
        self.digests += 1
        return header + digest_of(header)

    def _release(self, gathered: bytearray, pieces: list[bytes | memoryview], *, unread: str = "") -> None:
        """Pass on a long text, all of which is there but its tail. `unread`: why it is not looked at, if it is not."""
        assert self._texts is not None
        self._gathered = None
        header, data = self._reworded(self._texts, self._gathered_header, bytes(gathered), unread)
        self._crc = crc32c(data)
        pieces += [self._digested(header), data]

    def _reworded(self, texts: PortalTexts, header: bytes, data: bytes, unread: str) -> tuple[bytes, bytes]:
        """The header and text of a target's PDU, with this side's portals. Padding and digests are computed from these.

        `unread`: why the text is left as it is, if it is.
        """
        if unread:
            texts.unread(self._length, unread)
            return header, data
        data = texts.rewritten(header, data, self._connection.takes(Sender.INITIATOR))
        self._length = len(data)
        return header[: _LENGTH.start] + self._length.to_bytes(3) + header[_LENGTH.stop :], data

    def _tell(self, header: bytes, data: bytes) -> bool:
        """Tell the connection of a PDU; of data PDUs, only of a Data-In with a status or with data in its record.

        If its data is payload, it is told once that has passed: a slow line may take long for it. Returns whether the
        connection is told.
        """
        opcode = header[0] & OPCODE_MASK
        tells = opcode != _DATA_OUT and (opcode != _DATA_IN or bool(data) or header[1] & HAS_STATUS != 0)
        if tells and opcode == _DATA_IN and self._flags & PAYLOAD:
            self._last = header
        elif tells:
            self._connection.passed(self._sender, header, data, self._now)
        return tells

    def _weave_payload(self, pieces: list[bytes | memoryview]) -> None:
        """Weave as much of the PDU's payload as there is, up to its end."""
        payload, ends, at = self._payload, self._ends, self._at
        goal = self._given + self._left
        last = bisect_left(ends, goal, at)
        woven = payload[at : last + 1]
        if last == len(ends):
            self._given, self._left, self._at = ends[-1], goal - ends[-1], last
        elif over := ends[last] - goal:
            data = memoryview(woven[-1])
            woven[-1], payload[last] = data[:-over], data[-over:]
            self._given, self._left, self._at = goal, 0, last
        else:
            self._given, self._left, self._at = goal, 0, last + 1
        if self._digests or self._gathered is not None:
            self._look_at(woven, pieces)
        else:
            pieces += woven
        if self._left:
            return
        if self._last:
            self._connection.passed(self._sender, self._last, b"", self._now)
            self._last = b""
        self._tail_due = self._tail_length
        if self._gathered is not None and not self._tail_due:
            self._release(self._gathered, pieces)
            pieces.append(self._computed_tail(self._crc))

    def _look_at(self, payload: list[bytes | memoryview], pieces: list[bytes | memoryview]) -> None:
        """Weave payload of a PDU with digests, or gather that of a long text."""
        if self._flags & DATA_DIGEST:
            for data in payload:
                self._crc = crc32c(data, self._crc)
        if self._gathered is None:
            pieces += payload
        else:
            for data in payload:
                self._gathered += data

    def _tail(self, record: bytes, pieces: list[bytes | memoryview]) -> None:
        if self._gathered is not None:
            self._release(self._gathered, pieces, unread=_UNREAD if record[0] & AS_IS else "")
        if record[0] & AS_IS:
            tail = record[2:]
            if len(tail) > self._tail_due:
                raise RecordError(f"a tail of {len(tail)} bytes; {self._tail_due} are due")
            self._cut = len(tail) < self._tail_due
            self._shape = b"" if self._cut else self._shape
        else:
            tail = self._computed_tail(self._crc)
        self._tail_due = 0
        pieces.append(tail)

    def _computed_tail(self, crc: int) -> bytes:
        """Padding and digest behind data with this CRC."""
        self.digests += bool(self._flags & DATA_DIGEST)
        return computed_tail(self._flags, self._length, crc)
