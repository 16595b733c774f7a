"""What a connection reads and writes reaches its volume, whatever the connection says and however it ends."""

from dataclasses import dataclass, field

import pytest

from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import Opcode, Sender
from proxy.iscsi.scsi import unit_number
from proxy.net.tally import NAME_MAX, Tally
from proxy.observe.volume_status import volume_status
from proxy.observe.volumes import NAMES_MAX, VOLUMES_MAX, Volume, VolumeName, Volumes
from tests.unit.iscsi.pdus import (
    INQUIRY,
    command,
    data_in,
    login,
    login_answer,
    pdu,
    read_10,
    response,
    text,
    write_10,
)
from tests.unit.iscsi.sites import Cut

KiB = 1 << 10
ONE = 1 << 48
"""LUN 1 as it stands in a header."""


@dataclass
class Site:
    """One that has both arrays' bytes pass by a connection."""

    volumes: Volumes = field(default_factory=Volumes)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.connect("iqn.target")

    def connect(self, target: str) -> None:
        self.ask(target)
        self.back(login_answer())

    def ask(self, target: str) -> None:
        """To be let in."""
        self.tally = Tally(self.volumes, "forward replication")
        self._framers = {sender: Framer(self.tally.connection, sender) for sender in Sender}
        self.out(login(text(InitiatorName="iqn.host", TargetName=target)))

    def out(self, *whole: bytes) -> None:
        self._send(Sender.INITIATOR, whole)

    def back(self, *whole: bytes) -> None:
        self._send(Sender.TARGET, whole)

    def _send(self, sender: Sender, whole: tuple[bytes, ...]) -> None:
        for one in whole:
            self._framers[sender].receive(memoryview(one), self.now, Cut())

    def give_up(self, sender: Sender) -> None:
        self._framers[sender].receive(memoryview(b"\x99" * 48), self.now, Cut())

    def only(self) -> Volume:
        volume, others = self.volumes.all()
        assert not others.outstanding_peak
        return volume


@pytest.fixture
def site() -> Site:
    return Site()


def test_reads_and_writes(site: Site) -> None:
    site.out(command(1, write_10(0, 16), lun=ONE), command(2, read_10(16, 128), lun=ONE))
    site.now = 0.003
    site.back(response(1))
    site.now = 0.1
    site.back(data_in(2, bytes(64 * KiB), status=True))
    volume = site.only()
    status = volume_status(volume)
    assert volume.name == VolumeName("forward replication", "iqn.target", "1")
    assert (status.writes.bytes, status.reads.bytes) == (8 * KiB, 64 * KiB)
    assert (status.writes.seconds.total, status.reads.seconds.total) == (0.003, 0.1)
    assert (status.outstanding, status.outstanding_peak, status.connections) == (0, 2, 1)
    assert (site.tally.initiator, site.tally.target) == ("iqn.host", "iqn.target")


def test_blocks_with_protection_information_follow_one_another(site: Site) -> None:
    """They are longer on the way than on the volume."""
    for tag in range(3):
        whole = command(tag, write_10(8 * tag, 8))
        site.out(whole[:20] + (8 * 520).to_bytes(4) + whole[24:])
        site.back(response(tag))
    writes = volume_status(site.only()).writes
    assert (writes.sequential, writes.random, writes.bytes) == (2, 1, 3 * 8 * 520)


def test_what_moves_no_volumes_data_is_no_volume(site: Site) -> None:
    site.out(command(1, INQUIRY))
    site.back(data_in(1, bytes(96), status=True))
    assert [volume.name.target for volume in site.volumes.all()] == ["others"]


@pytest.mark.parametrize(
    "refusal", [b"", login_answer(first=0), login_answer(status=2)], ids=["no answer", "not yet", "refused"]
)
def test_who_is_not_let_in_names_no_volume(site: Site, refusal: bytes) -> None:
    """A stranger may name any target and send any command."""
    site.ask("iqn.stranger")
    if refusal:
        site.back(refusal)
    site.out(command(1, write_10(0, 16)))
    site.back(response(1))
    site.tally.close()
    (others,) = site.volumes.all()
    assert (others.outstanding, others.dropped, others.writes.random) == (0, 0, 0)


@pytest.mark.parametrize(
    "answer",
    [
        response(1, status=2),
        pdu(Opcode.SCSI_RESPONSE, tag=1)[:2] + b"\x01" + pdu(Opcode.SCSI_RESPONSE, tag=1)[3:],
    ],
    ids=["check condition", "target failure"],
)
def test_failures_move_nothing(site: Site, answer: bytes) -> None:
    site.out(command(1, write_10(0, 16)))
    site.back(answer)
    writes = volume_status(site.only()).writes
    assert (writes.commands, writes.bytes, writes.failed) == (0, 0, 1)


def test_what_has_no_status_is_dropped(site: Site) -> None:
    """The tag is used again; the task is aborted; the connection ends."""
    site.out(command(1, write_10(0, 16)), command(1, write_10(0, 16)), command(2, read_10(0, 1)))
    site.out(pdu(Opcode.TASK_MANAGEMENT | 0x40, 0x81, tag=9, rest=(1).to_bytes(4)))
    site.back(pdu(Opcode.TASK_MANAGEMENT_RESPONSE, tag=9))
    volume = site.only()
    assert (volume.outstanding, volume.dropped) == (1, 2)
    site.tally.close()
    assert (volume.outstanding, volume.dropped, volume.connections) == (0, 3, 0)
    site.tally.close()
    assert (volume.dropped, volume.connections) == (3, 0)


@pytest.mark.parametrize("function", [2, 4, 5, 6, 7, 11])
def test_what_begins_behind_a_task_management_function_has_its_status(site: Site, function: int) -> None:
    """The target has to do with what came before (RFC 7143, 4.2.3.3)."""
    site.out(command(1, write_10(0, 16)), manage(function), command(2, write_10(16, 16)))
    site.back(managed(), response(2))
    volume = site.only()
    assert (volume.outstanding, volume.dropped, volume.writes.sizes.count) == (0, 1, 1)


def test_an_abort_that_crosses_the_status(site: Site) -> None:
    """The tag may be another task's when the target answers."""
    site.out(command(1, write_10(0, 16)), manage(1, concerns=1))
    site.back(response(1))
    site.out(command(1, write_10(16, 16)))
    site.back(managed(), response(1))
    volume = site.only()
    assert (volume.outstanding, volume.dropped, volume.writes.sizes.count) == (0, 0, 2)


def test_a_task_that_the_target_does_not_know(site: Site) -> None:
    """Another session may have reset the unit; nobody will have a status for it (RFC 7143, 11.6.1)."""
    site.out(command(1, write_10(0, 16)), command(2, write_10(16, 16)), manage(1, concerns=1))
    site.back(managed(response=1))
    volume = site.only()
    assert (volume.outstanding, volume.dropped) == (1, 1)


def manage(function: int, concerns: int = 0) -> bytes:
    """A Task Management Function Request."""
    return pdu(Opcode.TASK_MANAGEMENT | 0x40, 0x80 | function, tag=9, rest=concerns.to_bytes(4))


def managed(response: int = 0) -> bytes:
    """What the target says to it."""
    whole = pdu(Opcode.TASK_MANAGEMENT_RESPONSE, tag=9)
    return whole[:2] + bytes((response,)) + whole[3:]


def test_two_connections_of_one_volume(site: Site) -> None:
    site.out(command(1, write_10(0, 16)))
    site.connect("iqn.target")
    site.out(command(1, write_10(16, 16)))
    volume = site.only()
    assert (volume.connections, volume.outstanding, volume.writes.sequential) == (2, 2, 1)


def test_one_connection_of_many_units(site: Site) -> None:
    """More than are told apart: nothing grows, nothing is lost, and each ends where it began."""
    for tag in range(VOLUMES_MAX * 2):
        site.out(command(tag, write_10(0, 1), lun=tag << 48))
    assert len(site.volumes.all()) == VOLUMES_MAX + 1
    assert site.volumes.others.outstanding == VOLUMES_MAX
    assert {volume.connections for volume in site.volumes.all()} == {1}
    for tag in range(VOLUMES_MAX * 2):
        site.back(response(tag))
    assert {volume.outstanding for volume in site.volumes.all()} == {0}
    assert sum(volume.bytes for volume in site.volumes.all()) == VOLUMES_MAX * 2 * 512
    site.tally.close()
    assert {volume.connections for volume in site.volumes.all()} == {0}


def test_a_connection_counts_once_for_each_volume() -> None:
    """A unit may be called by two forms of its number, and many units may be others."""
    site = Site()
    site.out(command(1, write_10(0, 1), lun=5 << 48), command(2, write_10(0, 1), lun=0x4005 << 48))
    assert site.only().connections == 1
    for number in range(NAMES_MAX):
        site.connect(f"iqn.{number}")
        site.out(command(1, write_10(0, 1)))
        site.tally.close()
    site.connect("iqn.late")
    site.out(*(command(tag, write_10(0, 1), lun=tag << 48) for tag in range(3)))
    assert site.volumes.others.connections == 1


def test_hostile_names() -> None:
    site = Site()
    site.connect("iqn.\x1b[2J\n\u202e" + "x" * 230)
    site.out(command(1, write_10(0, 16)))
    name = site.only().name.target
    assert name.isprintable()
    assert name.startswith("iqn.\\x1b[2J\\n\\u202ex")
    assert len(name) == NAME_MAX


@pytest.mark.parametrize(
    ("lun", "number"),
    [
        (0, "0"),
        (1 << 48, "1"),
        (255 << 48, "255"),
        (0x4100 << 48, "256"),
        (0x7FFF << 48, "16383"),
        (0x0101 << 48, "0101000000000000"),
        (0x8001 << 48, "8001000000000000"),
        (1, "0000000000000001"),
        ((1 << 64) - 1, "ffffffffffffffff"),
    ],
)
def test_units_as_operators_write_them(lun: int, number: str) -> None:
    assert unit_number(lun) == number


@pytest.mark.parametrize("sender", Sender)
def test_a_direction_that_is_not_understood_any_more(sender: Sender) -> None:
    """Which commands end nobody sees from now on, so none is counted; those under way have had no status."""
    site = Site()
    site.out(command(1, read_10(0, 8)))
    site.give_up(sender)
    for tag in range(2, 100):
        site.out(command(tag, read_10(tag, 8)))
        site.back(response(tag))
    volume = site.only()
    assert (volume.outstanding, volume.outstanding_peak, volume.dropped) == (0, 1, 1)
    assert volume.reads.sizes.count == 0
    site.tally.close()
    assert (volume.outstanding, volume.dropped) == (0, 1)


@pytest.mark.parametrize("end", ["response", "data in"])
def test_what_was_not_moved_does_not_count(end: str) -> None:
    """RFC 7143, 11.4.5; a residual that is no underflow, or is too large, takes nothing away, or all."""
    site = Site()
    for tag, flag, residual in ((1, 0x82, 1024), (2, 0x84, 1024), (3, 0x82, 1 << 31)):
        site.out(command(tag, read_10(0, 8)))
        whole = response(tag) if end == "response" else data_in(tag, b"", status=True)
        site.back(whole[:1] + bytes((flag | whole[1],)) + whole[2:44] + residual.to_bytes(4))
    assert site.only().bytes == (4096 - 1024) + 4096 + 0
