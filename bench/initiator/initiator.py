"""The initiator: one iSCSI connection, its sequence numbers, and the tasks that are under way on it.

with Initiator(address, Wishes(target=iqn)) as initiator:
    initiator.command(1, cdb.write(0, 128), bytes(65536))
    task = initiator.submit(1, cdb.read(0, 128), expect=65536)
    initiator.wait(task)
    initiator.logout()

There is no thread that reads. Each method that waits for something reads PDUs until that has come, and deals with all
that come meanwhile: it sends what an R2T asks for, answers pings, and finishes tasks.
"""

import socket
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from bench.initiator import cdb
from bench.initiator.login import Agreed, Wishes, encode_keys, log_in, pairs
from bench.initiator.pdu import FINAL, NO_TAG, Digests, InitiatorFailure, Opcode, Pdu, Reader, lun_field, words
from bench.sites import Address

PATIENCE_SECONDS = 60.0
READS, WRITES, SIMPLE = 0x40, 0x20, 0x01
"""Flags of a command (section 11.3.1)."""
STATUS_INSIDE = 0x01
"""S of Data-In: the PDU has the command's status, too (section 11.7.3)."""
ABORT_TASK, RESET_UNIT = 1, 5
"""Functions of task management (section 11.5.1)."""
_WORD = 1 << 32


class Protocol(InitiatorFailure):
    """The target did something that the protocol does not allow, or a command failed; the message says what."""


@dataclass
class Task:
    """A SCSI command that was sent, and what has come back."""

    tag: int
    lun: int
    data: memoryview
    """Data of a write; empty for other commands."""
    number: int
    """CmdSN."""
    patient: bool = True
    """Whether R2Ts for it are answered."""
    received: bytearray = field(default_factory=bytearray)
    """Data of a read, as far as it has come."""
    response: Pdu | None = None
    """The PDU with its status; None until that has come."""

    @property
    def status(self) -> int:
        """SCSI status. Raises Protocol while there is none."""
        if self.response is None:
            raise Protocol(f"task {self.tag} has no status")
        return self.response.detail & 0xFF

    @property
    def sense(self) -> cdb.Sense | None:
        """Why the command failed; None if it did not, or did not say."""
        response = self.response
        return cdb.sense(bytes(response.data)) if response and response.opcode == Opcode.RESPONSE else None


class Write(NamedTuple):
    """A write to be made: `data` from `sector` on."""

    sector: int
    data: memoryview


class Initiator:
    """One connection. A context manager: entering logs in, leaving closes. Usable from one thread."""

    def __init__(self, address: Address, wishes: Wishes, patience: float = PATIENCE_SECONDS) -> None:
        """Connects. `patience`: seconds after which a wait is given up. Raises OSError."""
        self.wishes = wishes
        self.agreed = Agreed({})
        self.sent = 0
        """Bytes sent so far."""
        self.rejects: list[Pdu] = []
        self.connection = socket.create_connection(address, timeout=patience)
        """Open to tests that do what no initiator would do."""
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = Reader(self.connection)
        self._digests = Digests()
        self._tasks: dict[int, Task] = {}
        self._answers: deque[Pdu] = deque()
        self._tag = 0
        self._number = 1
        self._number_max = 1
        self._status_number = 0
        self._handlers: dict[Opcode, Callable[[Pdu], None]] = {
            Opcode.DATA_IN: self._take_data,
            Opcode.READY: self._take_ready,
            Opcode.RESPONSE: self._finish,
            Opcode.NOP_IN: self._take_ping,
            Opcode.REJECT: self.rejects.append,
            Opcode.ASYNC: self._ignore,
        }

    def __enter__(self) -> Self:
        try:
            self.log_in()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, without a word to the target."""
        self.connection.close()

    # -- the login, and what is not a command ---------------------------------------------------------------------

    def log_in(self) -> None:
        """Go through the login. Raises LoginRefused, OSError."""
        self.agreed = log_in(self.wishes, self._ask_login)
        self._digests = self._reader.digests = self.agreed.digests

    def discover(self) -> list[tuple[str, str]]:
        """Keys and values of the answer to SendTargets=All (appendix C), in order; keys are repeated."""
        request = Pdu(Opcode.TEXT_REQUEST, tag=self._next_tag(), data=encode_keys({"SendTargets": "All"}))
        return list(pairs(self._ask(request, NO_TAG).data))

    def ping(self, data: bytes) -> bytes:
        """Send a NOP-Out with this data; returns the data that comes back."""
        request = Pdu(Opcode.NOP_OUT, tag=self._next_tag(), data=data)
        return bytes(self._ask(request, NO_TAG).data)

    def abort(self, task: Task) -> int:
        """Abort the task; returns the response (section 11.6.1; 0: done, 1: no such task)."""
        return self._manage(ABORT_TASK, task.lun, task.tag, task.number)

    def reset_unit(self, lun: int) -> int:
        """LOGICAL UNIT RESET; returns the response (section 11.6.1; 0: done)."""
        return self._manage(RESET_UNIT, lun, NO_TAG, 0)

    def logout(self) -> int:
        """Log out; returns the response (section 11.15.1; 0: done). `close` is still to be called."""
        request = Pdu(Opcode.LOGOUT_REQUEST, tag=self._next_tag())
        return self._ask(request, 0).detail >> 8

    def _manage(self, function: int, lun: int, referenced: int, number: int) -> int:
        tag = self._next_tag()
        rest = words(referenced, self._number, self._status_number, number)
        request = Pdu(Opcode.TASK_REQUEST, FINAL | function, 0, lun_field(lun), tag, rest, immediate=True)
        self.send(request)
        return self.answer().detail >> 8

    def _ask(self, request: Pdu, first: int) -> Pdu:
        """Send a request with the next CmdSN, and `first` as its word at byte 20; returns the answer."""
        self.send(request._replace(rest=words(first, self._take_number(), self._status_number)))
        return self.answer()

    def _ask_login(self, request: Pdu) -> Pdu:
        self.send(request._replace(rest=words(0, self._number, self._status_number)))
        return self.answer()

    def answer(self) -> Pdu:
        """The next PDU that has come or comes and belongs to no command."""
        while not self._answers:
            self.receive()
        return self._answers.popleft()

    # -- commands -------------------------------------------------------------------------------------------------

    def command(self, lun: int, command: bytes, data: bytes | memoryview = b"", expect: int = 0) -> Task:
        """Submit a command, and wait for its status. Arguments as of `submit`."""
        task = self.submit(lun, command, data, expect)
        self.wait(task)
        return task

    def submit(
        self, lun: int, command: bytes, data: bytes | memoryview = b"", expect: int = 0, *, patient: bool = True
    ) -> Task:
        """Send a command, with as much of its data as needs no R2T. `data`: of a write; `expect`: most bytes of a read.

        `patient=False`: R2Ts are not answered, so the task remains until it is aborted.
        """
        task = Task(self._next_tag(), lun, memoryview(data), self._take_number(), patient)
        self._tasks[task.tag] = task
        with_it = min(len(data), self._segment, self.agreed.first_burst) if self.agreed.immediate else 0
        unasked = with_it if self.agreed.initial_r2t else min(len(data), self.agreed.first_burst)
        flags = SIMPLE | (READS if expect else 0) | (WRITES if len(data) else 0) | (FINAL if unasked == with_it else 0)
        rest = words(len(data) or expect, task.number, self._status_number)[:12] + command.ljust(16, b"\0")
        self.send(Pdu(Opcode.COMMAND, flags, 0, lun_field(lun), task.tag, rest, task.data[:with_it]))
        self._send_data(task, NO_TAG, with_it, unasked)
        return task

    def wait(self, *tasks: Task) -> None:
        """Wait until all these have a status. Raises ConnectionError, TimeoutError, WrongDigest, Protocol."""
        while any(task.response is None for task in tasks):
            self.receive()

    def ready(self, lun: int) -> None:
        """Send TEST UNIT READY until it succeeds: the unit attentions that are pending would fail the next command."""
        while self.command(lun, cdb.test_unit_ready()).status != cdb.GOOD:
            pass

    def write_all(self, lun: int, writes: Iterable[Write], depth: int) -> None:
        """Make all these writes, `depth` at once. Raises Protocol if one fails."""
        under_way: deque[Task] = deque()
        for write in writes:
            count = len(write.data) // cdb.SECTOR
            under_way.append(self.submit(lun, cdb.write_long(write.sector, count), write.data))
            if len(under_way) >= depth:
                self._expect_good(under_way.popleft())
        while under_way:
            self._expect_good(under_way.popleft())

    def _expect_good(self, task: Task) -> None:
        self.wait(task)
        if task.status != cdb.GOOD:
            raise Protocol(f"a write ended with status {task.status}, {task.sense}")

    @property
    def _segment(self) -> int:
        return min(self.wishes.send, self.agreed.target_takes)

    def _send_data(self, task: Task, transfer_tag: int, start: int, end: int) -> None:
        """Send bytes `start` to `end` of the data as one sequence of Data-Out PDUs (section 11.7), if there are any."""
        for number, at in enumerate(range(start, end, self._segment)):
            piece = task.data[at : min(at + self._segment, end)]
            flags = FINAL if at + len(piece) == end else 0
            rest = words(transfer_tag, 0, self._status_number, 0, number, at)
            self.send(Pdu(Opcode.DATA_OUT, flags, 0, lun_field(task.lun), task.tag, rest, piece))

    # -- what comes -----------------------------------------------------------------------------------------------

    def receive(self) -> None:
        """Read one PDU, and do what it asks for. Raises ConnectionError, TimeoutError, WrongDigest, Protocol."""
        pdu = self._reader.read()
        if pdu.opcode not in (Opcode.READY, Opcode.DATA_IN) or pdu.flags & STATUS_INSIDE:
            self._status_number = pdu.word(24) + 1  # R2Ts and Data-In without a status have no StatSN of their own
        self._number_max = pdu.word(32)
        self._handlers.get(pdu.opcode, self._answers.append)(pdu)

    def _take_data(self, pdu: Pdu) -> None:
        task = self._task(pdu)
        at = pdu.word(40)
        if at != len(task.received):
            raise Protocol(f"data for offset {at} came after {len(task.received)} bytes")
        task.received += pdu.data
        if pdu.flags & STATUS_INSIDE:
            self._finish(pdu)

    def _take_ready(self, pdu: Pdu) -> None:
        task = self._task(pdu)
        if task.patient:
            self._send_data(task, pdu.word(20), pdu.word(40), pdu.word(40) + pdu.word(44))

    def _finish(self, pdu: Pdu) -> None:
        self._task(pdu).response = pdu
        del self._tasks[pdu.tag]

    def _take_ping(self, pdu: Pdu) -> None:
        """Take a NOP-In (section 11.19). With a task tag it answers our ping; with a transfer tag it is the target's
        own, which wants that tag back."""
        if pdu.tag != NO_TAG:
            self._answers.append(pdu)
        elif pdu.word(20) != NO_TAG:
            rest = words(pdu.word(20), self._number, self._status_number)
            self.send(Pdu(Opcode.NOP_OUT, lun=pdu.lun, rest=rest, immediate=True))

    def _ignore(self, pdu: Pdu) -> None:
        """Asynchronous messages: nobody waits for them."""

    def _task(self, pdu: Pdu) -> Task:
        if pdu.tag not in self._tasks:
            raise Protocol(f"{pdu.opcode.name} for tag {pdu.tag}, which is not under way")
        return self._tasks[pdu.tag]

    # -- numbers and bytes ----------------------------------------------------------------------------------------

    def send(self, pdu: Pdu) -> None:
        """Send a PDU as it is."""
        data = b"".join(pdu.encode(self._digests))
        self.connection.sendall(data)
        self.sent += len(data)

    def _next_tag(self) -> int:
        self._tag += 1
        return self._tag

    def _take_number(self) -> int:
        """The next CmdSN, once the target's window has room for it (section 4.2.2.1)."""
        while (self._number_max - self._number) % _WORD >= _WORD >> 1:
            self.receive()
        number, self._number = self._number, self._number + 1
        return number
