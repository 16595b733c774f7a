"""What one site knows of an iSCSI connection by watching both directions: what was agreed on, and what is under way.

It is told of every PDU that passes this site: by the `Framer` of those that this side's array sends, by the `Weaver` of
the others. It says from where on there are digests, and which volume address data has. Exactness does not depend on it:
if an array misbehaves, the far side still writes what was sent.
"""

from collections.abc import Callable
from typing import Protocol

from proxy.iscsi.keys import Keys
from proxy.iscsi.pdu import (
    BASIC_BYTES,
    CONTINUED,
    DIGEST_BYTES,
    FINAL,
    HAS_STATUS,
    LUN,
    OPCODE_MASK,
    RESIDUAL,
    TASK_TAG,
    UNDERFLOW,
    Opcode,
    Sender,
)
from proxy.iscsi.tasks import Task, Tasks

FULL_FEATURE = 3
"""Stage of a login (11.12.3)."""
_STATUS_CLASS = 36
"""Byte of a Login Response: 0 is success (11.13.5)."""
_FUNCTIONS_MAX = 16
_ABORT_TASK, _ABORT_TASK_SET, _CLEAR_TASK_SET, _UNIT_RESET = 1, 2, 4, 5
_RESETS = (6, 7, 11)
"""Task management functions (11.5.1): _RESETS are target resets, and the reset of the I_T nexus (RFC 7144)."""
_DONE, _NO_SUCH_TASK = 0, 1
"""Responses to task management functions (11.6.1)."""


class Observer(Protocol):
    """Counts the commands that pass. Called on the loop thread, once a command; it must be quick."""

    def began(self, task: Task) -> None:
        """A SCSI command passed this site."""

    def ended(self, task: Task, status: int, now: float) -> None:
        """The status of a command passed this site: 0 is GOOD."""

    def dropped(self, task: Task) -> None:
        """No status will be seen: the task was aborted, its tag is used again, or too many tasks are under way."""


class Connection:
    """One iSCSI connection, seen from one site. Bounded: tasks, units, text and keys each have a maximum."""

    def __init__(self, observer: Observer | None = None) -> None:
        self.keys = Keys()
        self.tasks = Tasks()
        self.begun = False
        """A login has passed: a connection that does not begin with one is not iSCSI."""
        self.full_feature = False
        self._failed = False  # the login failed: the target closes the connection (11.13.5)
        self.header_digest = False
        """PDUs from now on have a header digest."""
        self.header_bytes = BASIC_BYTES
        """Bytes of a header without additional headers, but with its digest."""
        self.data_digest = False
        self.opaque = ""
        """Why from now on neither direction can be understood; empty as long as both can."""
        self.target: str | None = None
        """The name of the target, once the initiator has said it."""
        self.initiator: str | None = None
        self._observer = observer
        self._functions: dict[bytes, tuple[bytes, int]] = {}  # by tag: its header, and how many tasks had begun before
        self._watched: dict[int, Callable[[Sender, bytes, bytes, float], None]] = {
            Opcode.LOGIN_REQUEST: self._login,
            Opcode.LOGIN_RESPONSE: self._login,
            Opcode.TEXT_REQUEST: self._text,
            Opcode.TEXT_RESPONSE: self._text,
        }

    def passed(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        """A PDU passes. `data`: its data segment if a record carries it (the Framer omits a command's), or empty."""
        watch = self._watched.get(header[0] & OPCODE_MASK)
        if watch is not None:
            watch(sender, header, data, now)

    def takes(self, side: Sender) -> int:
        """Most bytes of a data segment that a side takes: as it has declared; during the login the default (13.12)."""
        return self.keys.declared("MaxRecvDataSegmentLength", side if self.full_feature else None)

    def _command(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        task, former = self.tasks.begin(header, now)
        if self._observer is not None:
            if former is not None:
                self._observer.dropped(former)
            self._observer.began(task)

    def _data_in(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        if data:
            task = self.tasks.find(header)
            if task is not None and task.capacity:
                self.tasks.capacity(task, data)
        if header[1] & HAS_STATUS:
            self._response(sender, header, data, now)

    def _response(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        task = self.tasks.end(header[TASK_TAG])
        if task is not None and self._observer is not None:
            if header[1] & UNDERFLOW:
                task.length = max(0, task.length - int.from_bytes(header[RESIDUAL]))
            self._observer.ended(task, header[3] or header[2], now)  # not completed: no status but a response (11.4.3)

    def _login(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        self.begun = True
        if self.full_feature or self._failed:
            self.opaque = "a login after the login phase"  # what it agrees on cannot be told from what was before
            return
        self._failed = sender is Sender.TARGET and header[_STATUS_CLASS] != 0
        self._text(sender, header, data, now)
        if sender is Sender.TARGET and header[1] & FINAL and header[1] & 3 == FULL_FEATURE and not self._failed:
            self._begin_full_feature()
            self.header_digest = self.keys.value("HeaderDigest") == "CRC32C"
            self.header_bytes += DIGEST_BYTES if self.header_digest else 0
            self.data_digest = self.keys.value("DataDigest") == "CRC32C"
            self.opaque = self.opaque or self._unknown()

    def _begin_full_feature(self) -> None:
        """Watch commands from now on. One that is sent before the target has accepted the login is none."""
        self.full_feature = True
        self._watched |= {
            Opcode.SCSI_COMMAND: self._command,
            Opcode.DATA_IN: self._data_in,
            Opcode.SCSI_RESPONSE: self._response,
            Opcode.TASK_MANAGEMENT: self._function,
            Opcode.TASK_MANAGEMENT_RESPONSE: self._function_response,
        }

    def _unknown(self) -> str:
        """Why PDUs cannot be found after what was agreed on; empty if they can.

        Markers lie between PDUs (RFC 3720, appendix A). A digest may have a private name, Y-... (13.1); and if the
        outcome is no digest's name at all, the arrays have understood it otherwise than this site.
        """
        if "Yes" in map(self.keys.value, ("IFMarker", "OFMarker")):
            return "markers were agreed on"
        if self.keys.incomplete:
            return "a login text longer than is looked at"
        known = {self.keys.value(key) for key in ("HeaderDigest", "DataDigest")} <= {"None", "CRC32C"}
        return "" if known else "a digest that is neither None nor CRC32C"

    def lose_sight(self) -> None:
        """One direction goes as it is from now on: commands are not seen to end any more, so none are counted.

        Before full feature phase nobody sees then what is agreed on, so the other direction has to go as it is, too.
        """
        self.unobserve()
        if not self.full_feature:
            self.opaque = self.opaque or "the other direction is not understood"

    def unobserve(self) -> None:
        """Tell the observer that tasks under way are dropped, and nothing from then on."""
        observer, self._observer = self._observer, None
        for task in self.tasks.end_all():
            if observer is not None:
                observer.dropped(task)

    def _text(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        self.keys.text(sender, data, continued=bool(header[1] & CONTINUED))
        if sender is Sender.INITIATOR and not self.full_feature:
            self.target = self.keys.said("TargetName", sender)
            self.initiator = self.keys.said("InitiatorName", sender)

    def _function(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        if len(self._functions) < _FUNCTIONS_MAX:
            self._functions[header[TASK_TAG]] = header[:BASIC_BYTES], self.tasks.begun

    def _function_response(self, sender: Sender, header: bytes, data: bytes, now: float) -> None:
        function, begun = self._functions.pop(header[TASK_TAG], (b"", 0))
        if not function:
            return
        for task in self._ended_by(function, header[2], begun):
            if self._observer is not None:
                self._observer.dropped(task)

    def _ended_by(self, function: bytes, response: int, begun: int) -> list[Task]:
        """End and return the tasks that a function has ended: none that began after it (4.2.3.3), even of that tag.

        A task that the target says it does not know has ended as well: a status would have come before that answer.
        """
        kind = function[1] & 0x7F
        if kind == _ABORT_TASK and response in (_DONE, _NO_SUCH_TASK):
            return self.tasks.end_all(tag=function[20:24], begun=begun)
        if response != _DONE:
            return []
        if kind in (_ABORT_TASK_SET, _CLEAR_TASK_SET, _UNIT_RESET):
            return self.tasks.end_all(lun=int.from_bytes(function[LUN]), begun=begun)
        return self.tasks.end_all(begun=begun) if kind in _RESETS else []
