"""Counts what one iSCSI connection reads and writes, by volume."""

from proxy.iscsi.connection import Connection
from proxy.iscsi.scsi import Access, unit_number
from proxy.iscsi.tasks import Task
from proxy.observe.volumes import VOLUMES_MAX, Commands, Volume, VolumeName, Volumes
from proxy.text import printable

NAME_MAX = 223
"""Longest name of an iSCSI node (RFC 7143, 4.2.7.1), bytes; of a longer one the beginning is used."""
_READ, _WRITE = Access.READ, Access.WRITE


class Tally:
    """The `Observer` of one connection. Loop thread."""

    def __init__(self, volumes: Volumes, share: str) -> None:
        """`share`: the name of the forward's or export's share, as "forward replication"."""
        self.connection = Connection(self)
        self._all = volumes
        self._share = share
        self._used: dict[int, Volume] = {}  # by LUN; nothing is removed, so that a command is counted where it began
        self._entered: set[Volume] = set()  # a volume may stand for several LUNs

    @property
    def initiator(self) -> str | None:
        """The initiator's name, fit for a terminal."""
        return node_name(self.connection.initiator)

    @property
    def target(self) -> str | None:
        """The target's name, fit for a terminal."""
        return node_name(self.connection.target)

    def began(self, task: Task) -> None:
        """A command has passed. Only reads and writes count."""
        if task.access is _READ or task.access is _WRITE:
            volume = self._used.get(task.lun) or self._enter(task.lun)
            volume.began(_commands(volume, task), task.byte, task.extent)

    def ended(self, task: Task, status: int, now: float) -> None:
        """The command's status has passed."""
        if task.access is _READ or task.access is _WRITE:
            volume = self._volume(task)
            volume.ended(_commands(volume, task), task.length, now - task.began, good=not status)

    def dropped(self, task: Task) -> None:
        """The command will have no status."""
        if task.access is _READ or task.access is _WRITE:
            self._volume(task).drop()

    def close(self) -> None:
        """The connection has ended: what was under way on it will have no status."""
        self.connection.unobserve()
        for volume in self._entered:
            self._all.leave(volume)
        self._entered.clear()
        self._used.clear()

    def _enter(self, lun: int) -> Volume:
        """The volume of a unit that is used for the first time. Beyond `VOLUMES_MAX` units it is the volume that stands
        for all others, so that nobody can fill memory."""
        if len(self._used) < VOLUMES_MAX:
            name = VolumeName(self._share, self.target or "", unit_number(lun))
            volume = self._used[lun] = self._all.find(name)
        else:
            volume = self._all.others
        if volume not in self._entered:
            self._entered.add(volume)
            self._all.enter(volume)
        return volume

    def _volume(self, task: Task) -> Volume:
        return self._used.get(task.lun, self._all.others)


def _commands(volume: Volume, task: Task) -> Commands:
    return volume.reads if task.access is _READ else volume.writes


def node_name(name: str | None) -> str | None:
    """The name of an initiator or target as it was said, but no longer than NAME_MAX, and printable."""
    return None if name is None else printable(name)[:NAME_MAX]
