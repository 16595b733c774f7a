"""What a site knows by watching: the login's stages, tasks, and who is told."""

import pytest

from proxy.iscsi.connection import Connection
from proxy.iscsi.keys import KEYS, TEXT_MAX, VALUE_MAX
from proxy.iscsi.pdu import Opcode, Sender
from proxy.iscsi.scsi import Access, command_of, unit_length
from proxy.iscsi.tasks import TASKS_MAX, UNITS_MAX, Task, Tasks
from tests.memory import tracing
from tests.unit.iscsi.pdus import (
    READ_CAPACITY_10,
    command,
    data_in,
    digests,
    login,
    login_answer,
    pdu,
    read_10,
    response,
    text,
    write_10,
)
from tests.unit.iscsi.sites import Pair

MEMORY_MAX = 320 << 10
"""Bytes that one connection may make a site remember: a stream's memory is accounted for without them."""


class Listing:
    """An observer that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int, float]] = []

    def began(self, task: Task) -> None:
        self.told.append((f"{task.access.value} {task.byte}+{task.length}", int.from_bytes(task.tag), task.began))

    def ended(self, task: Task, status: int, now: float) -> None:
        self.told.append((f"status {status}", int.from_bytes(task.tag), now))

    def dropped(self, task: Task) -> None:
        self.told.append(("dropped", int.from_bytes(task.tag), task.began))


def test_digests_begin_after_the_last_login_response() -> None:
    """Not with the request, nor with a response of an earlier stage."""
    pair = Pair()
    keys = digests(True, True)
    steps = [
        (pair.out, login(keys, first=0x81)),
        (pair.back, login_answer(keys, first=0x81)),
        (pair.out, login()),
    ]
    for direction, whole in steps:
        assert direction.send(whole) == whole
        assert not pair.near.full_feature
        assert not pair.near.header_digest
    pair.back.send(login_answer())
    for connection in (pair.near, pair.far):
        assert connection.full_feature
        assert connection.header_digest
        assert connection.data_digest


def test_a_login_after_the_login_changes_nothing() -> None:
    pair = Pair()
    pair.log_in()
    pair.log_in(digests(True, True))
    assert not pair.near.header_digest
    assert not pair.far.data_digest


def test_a_login_of_many_pdus() -> None:
    """A key that is cut between two of them; 6.2."""
    pair = Pair()
    whole = text(InitiatorName="iqn.a", TargetName="iqn.b") + digests(True, False)
    cuts = [whole[at : at + 5] for at in range(0, len(whole), 5)]
    for part in cuts[:-1]:
        pair.out.send(pdu(Opcode.LOGIN_REQUEST | 0x40, 0x44, data=part))
        pair.back.send(login_answer(first=0x04))
    assert pair.far.target is None
    pair.out.send(pdu(Opcode.LOGIN_REQUEST | 0x40, 0x87, data=cuts[-1]))
    assert pair.far.target == "iqn.b"


def test_an_observer_is_told_of_each_command() -> None:
    listing = Listing()
    pair = Pair(listing)
    pair.log_in()
    pair.out.send(command(1, write_10(8, 8)), now=1.0)
    pair.out.send(command(2, read_10(16, 8)), now=2.0)
    pair.back.send(data_in(2, bytes(4096), status=True), now=3.0)
    pair.back.send(response(1, status=2), now=4.0)
    pair.back.send(response(1), now=5.0)
    assert listing.told == [
        ("write 4096+4096", 1, 1.0),
        ("read 8192+4096", 2, 2.0),
        ("status 0", 2, 3.0),
        ("status 2", 1, 4.0),
    ]


@pytest.mark.parametrize("agreed", [False, True])
def test_a_status_with_data_passes_with_the_last_of_it(agreed: bool) -> None:
    """A slow line takes long for the data; before it is there, the initiator has no status."""
    near, far = Listing(), Listing()
    pair = Pair(near, far=far)
    pair.log_in(digests(agreed, agreed))
    pair.out.send(command(1, read_10(0, 8), header_digest=agreed, data_digest=agreed), now=1.0)
    whole = data_in(1, bytes(4096), status=True, header_digest=agreed, data_digest=agreed)
    pair.back.send(whole[:3000], now=2.0)
    assert [what for what, _, _ in near.told + far.told] == ["read 0+4096"] * 2
    pair.back.send(whole[3000:], now=9.0)
    assert near.told[1:] == far.told[1:] == [("status 0", 1, 9.0)]


def test_it_passes_once() -> None:
    """A task that has the same tag by then is another one, and goes on."""
    near, far = Listing(), Listing()
    pair = Pair(near, far=far)
    pair.log_in()
    for _ in range(2):
        pair.out.send(command(1, read_10(0, 16)))
        pair.back.send(data_in(1, bytes(4096)))
        assert len(pair.near.tasks) == len(pair.far.tasks) == 1
        pair.back.send(data_in(1, bytes(4096), 4096, status=True))
    for listing in (near, far):
        assert [what for what, _, _ in listing.told] == ["read 0+8192", "status 0"] * 2


@pytest.mark.parametrize(("residual", "moved"), [(0, 4096), (96, 4000), (4096, 0), (5000, 0)])
def test_a_status_says_how_much_was_not_moved(residual: int, moved: int) -> None:
    """At most all."""
    pair = Pair(Listing())
    pair.log_in()
    whole = command(1, read_10(0, 8))
    pair.out.send(whole)
    task = pair.near.tasks.find(whole)
    assert task is not None
    pair.back.send(pdu(Opcode.SCSI_RESPONSE, 0x82, tag=1, rest=bytes(24) + residual.to_bytes(4)))
    assert task.length == moved


@pytest.mark.parametrize(
    ("function", "dropped"),
    [(1, {3}), (2, {1, 2, 3}), (4, {1, 2, 3}), (5, {1, 2, 3}), (6, {1, 2, 3, 4}), (7, {1, 2, 3, 4}), (8, set())],
)
@pytest.mark.parametrize("answer", [0, 255])
def test_task_management_ends_tasks(function: int, dropped: set[int], answer: int) -> None:
    """If the target says that it was carried out (11.6.1)."""
    listing = Listing()
    pair = Pair(listing)
    pair.log_in()
    for tag in (1, 2, 3):
        pair.out.send(command(tag, write_10(0, 1)))
    pair.out.send(command(4, write_10(0, 1), lun=1))
    pair.out.send(pdu(Opcode.TASK_MANAGEMENT | 0x40, 0x80 | function, tag=9, rest=(3).to_bytes(4)))
    said = bytearray(pdu(Opcode.TASK_MANAGEMENT_RESPONSE, tag=9))
    said[2] = answer
    pair.back.send(bytes(said))
    assert {tag for what, tag, _ in listing.told if what == "dropped"} == (set() if answer else dropped)


def test_functions_are_bounded() -> None:
    """Of too many that are under way at once the tasks that they end are not noticed; what follows is."""
    listing = Listing()
    pair = Pair(listing)
    pair.log_in()
    resets = [pdu(Opcode.TASK_MANAGEMENT | 0x40, 0x80 | 7, tag=tag) for tag in range(1000)]
    answers = [pdu(Opcode.TASK_MANAGEMENT_RESPONSE, tag=tag) for tag in range(1000)]
    pair.out.send(command(1, write_10(0, 1)))
    pair.out.send(b"".join(resets))
    pair.back.send(answers[999])
    assert len(pair.near.tasks) == 1
    pair.back.send(answers[0])
    assert len(pair.near.tasks) == 0
    assert [what for what, _, _ in listing.told] == ["write 0+512", "dropped"]


def test_tasks_are_bounded() -> None:
    tasks = Tasks()
    header = command(0, write_10(0, 1))[:48]
    dropped = [tasks.begin(header[:16] + n.to_bytes(4) + header[20:], 0.0)[1] for n in range(TASKS_MAX + 3)]
    assert len(tasks) == TASKS_MAX
    assert [int.from_bytes(task.tag) for task in dropped if task] == [0, 1, 2]


def test_units_are_bounded() -> None:
    """Of too many units the length of a logical block is taken for 512."""
    tasks = Tasks()
    for lun in range(UNITS_MAX + 1):
        task, _ = tasks.begin(command(1, READ_CAPACITY_10, lun=lun)[:48], 0.0)
        tasks.capacity(task, bytes(4) + (4096).to_bytes(4))
    known, _ = tasks.begin(command(1, write_10(1, 1), lun=UNITS_MAX - 1)[:48], 0.0)
    unknown, _ = tasks.begin(command(1, write_10(1, 1), lun=UNITS_MAX)[:48], 0.0)
    assert (known.byte, unknown.byte) == (4096, 512)


def test_a_tag_that_is_used_again() -> None:
    tasks = Tasks()
    first, _ = tasks.begin(command(1, write_10(0, 1))[:48], 0.0)
    _, former = tasks.begin(command(1, read_10(0, 1))[:48], 1.0)
    assert former is first
    assert len(tasks) == 1


@pytest.mark.parametrize(
    ("cdb", "expected"),
    [
        ("08 1fffff 00 00", (Access.READ, 0x1FFFFF, 256)),
        ("0a e00001 02 00", (Access.WRITE, 1, 2)),
        ("28 00 00000001 00 0002 00", (Access.READ, 1, 2)),
        ("2a 00 ffffffff 00 ffff 00", (Access.WRITE, 0xFFFFFFFF, 0xFFFF)),
        ("a8 00 00000001 00010000 00 00", (Access.READ, 1, 0x10000)),
        ("aa 00 00000001 00010000 00 00", (Access.WRITE, 1, 0x10000)),
        ("88 00 0000000100000000 00000002 00 00", (Access.READ, 1 << 32, 2)),
        ("8a 00 ffffffffffffffff 00000002 00 00", (Access.WRITE, 2**64 - 1, 2)),
        ("2e 00 00000001 00 0002 00", (Access.WRITE, 1, 2)),
        ("12 00 00 00 60 00", (Access.OTHER, 0, 0)),
        ("7f 00", (Access.UNKNOWN, 0, 0)),
        ("c0 00", (Access.UNKNOWN, 0, 0)),
    ],
)
def test_commands(cdb: str, expected: tuple[Access, int, int]) -> None:
    assert command_of(command(1, bytes.fromhex(cdb))[:48]) == expected


@pytest.mark.parametrize("answer", [b"", bytes(7), bytes(8), bytes(4) + (513).to_bytes(4), b"\xff" * 8])
def test_answers_without_a_sensible_length(answer: bytes) -> None:
    assert unit_length(0x25, answer) is None


def test_what_is_remembered_is_bounded() -> None:
    """However much a peer says, with all that is remembered as large as may be."""
    with tracing() as taken:
        connection = Connection()
        say_all(connection)
    assert taken.kept < MEMORY_MAX
    assert len(connection.tasks) == TASKS_MAX


def say_all(connection: Connection) -> None:
    """And twice as many commands as may be open."""
    for sender in Sender:
        for key in KEYS:
            long = text(**{key: "\U0001f4be" * VALUE_MAX})
            connection.passed(sender, login()[:48], long, 0.0)
        connection.passed(sender, login(first=0x44)[:48], bytes(TEXT_MAX), 0.0)
    for n in range(2 * TASKS_MAX):
        whole = command(n << 16, READ_CAPACITY_10, lun=2**64 - 1 - n, additional=bytes(1020))
        connection.passed(Sender.INITIATOR, whole, b"", n / 3)
        if n < TASKS_MAX:
            connection.passed(Sender.TARGET, data_in(n << 16, b"")[:48], bytes(4) + b"\0\0\x10\0", 0.0)
        function = pdu(Opcode.TASK_MANAGEMENT, 0x81, tag=n, additional=bytes(1020))
        connection.passed(Sender.INITIATOR, function, b"", 0.0)


@pytest.mark.parametrize(
    ("expected", "byte", "length"),
    [
        pytest.param(8 * 4096, 3 * 4096, 8 * 4096, id="4096"),
        pytest.param(8 * 512, 3 * 512, 8 * 512, id="512"),
        pytest.param(8 * 520, 3 * 512, 8 * 520, id="with protection information"),
        pytest.param(1000, 3 * 512, 1000, id="shorter than the command"),
        pytest.param(0, 3 * 512, 8 * 512, id="not said"),
    ],
)
def test_the_unit_is_known_from_the_expected_length(expected: int, byte: int, length: int) -> None:
    """Where no READ CAPACITY passes on this connection: another one may have asked."""
    header = command(1, write_10(3, 8))
    task, _ = Tasks().begin(header[:20] + expected.to_bytes(4) + header[24:], 0.0)
    assert (task.byte, task.length) == (byte, length)


def test_the_capacity_is_believed_before_the_expected_length() -> None:
    tasks = Tasks()
    asking, _ = tasks.begin(command(1, READ_CAPACITY_10), 0.0)
    tasks.capacity(asking, b"\0\0\xff\xff\0\0\x10\0")
    header = command(2, write_10(3, 8))
    task, _ = tasks.begin(header[:20] + (8 * 512).to_bytes(4) + header[24:], 0.0)
    assert (task.byte, task.length) == (3 * 4096, 8 * 512)
