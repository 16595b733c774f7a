"""Facts about this host, read from /proc, /sys and the file system. Nothing is changed; what is not there is None.

`process` is the number of the one whose limits are told, or 0 for this one. `root` stands for /, for tests.
"""

import ctypes
import os
import re
import resource
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from proxy.doctor.facts import Clock, Disk, Kernel, Limits, Memory, NoDisk, Processors, Zone
from proxy.files import in_the_way, kind, nearest, present

ROOT = Path("/")
_NO_LIMIT = 1 << 60
"""Control groups of version 1 write a number of that order if there is no limit."""
LEAST_ROOM = 1 << 20
"""Bytes without which a file can hardly grow."""
_ZONES = "/usr/share/zoneinfo"
_LOCALTIME = "/etc/localtime"
_RULE = re.compile(r"(<[0-9A-Za-z+-]{3,}>|[A-Za-z]{3,})[+-]?[0-9]|(UTC|GMT)?$")
"""How TZ begins if it is no file's name: a zone's name and how far it is from UTC (POSIX.1-2017, section 8.3)."""
_TIME_ERROR = 5  # adjtimex(2): not synchronised
_TIMEX_BYTES = 512  # struct timex has 208


def kernel(root: Path = ROOT, release: str | None = None) -> Kernel:
    """`release`: as uname says it; by default of the running kernel."""
    ipv4 = root / "proc/sys/net/ipv4"
    default = _words(ipv4 / "tcp_congestion_control")
    return Kernel(
        available=_words(ipv4 / "tcp_available_congestion_control"),
        allowed=_words(ipv4 / "tcp_allowed_congestion_control"),
        default=default[0] if default else None,
        modules=_modules(root / "lib/modules" / (release or os.uname().release)),
        read=_limits(ipv4 / "tcp_rmem"),
        write=_limits(ipv4 / "tcp_wmem"),
        scaling=_switch(ipv4 / "tcp_window_scaling"),
        tuning=_switch(ipv4 / "tcp_moderate_rcvbuf"),
        probing=_number(ipv4 / "tcp_mtu_probing"),
    )


def memory(process: int = 0, root: Path = ROOT) -> Memory:
    """What is available, and the limits of the process's control group."""
    groups = [*_groups(process, root, "memory")]
    limit, throttled = (_least(groups, *names) for names in (("memory.max", "memory.limit_in_bytes"), ("memory.high",)))
    return Memory(_available(root / "proc/meminfo"), limit, throttled)


def processors(process: int = 0, root: Path = ROOT) -> Processors:
    """The cores of the process, and the control group's limit of its time."""
    quotas = (quota for group in _groups(process, root, "cpu") if (quota := _quota(group)) is not None)
    return Processors(_cores(process), min(quotas, default=None))


def descriptors(process: int = 0, root: Path = ROOT) -> int:
    """How many the process may have open: the hard limit, which a site takes."""
    for line in _text(_of(process, root) / "limits").splitlines():
        if line.startswith("Max open files"):
            return int(line.split()[4])
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def disk(path: Path) -> Disk | NoDisk:
    """Below a directory that is there, or will be."""
    try:
        found = in_the_way(path)
        return _disk(path) if found is None else NoDisk(f"{found} is not a directory")
    except OSError as error:
        words = f"{path} cannot be looked at: {_why_not(path, error)}"
        return NoDisk(words, denied=isinstance(error, PermissionError))


def unwritable(path: Path) -> str:
    """Why this user cannot write that file, which need not be there yet; empty if it can."""
    try:
        return _unwritable(path)
    except OSError as error:
        return f"it cannot be looked at: {_why_not(path, error)}"


def _unwritable(path: Path) -> str:
    there = present(path)
    if there and not path.is_file():
        return f"it is {kind(path.stat().st_mode)}"
    if not there and path.is_symlink():
        path = Path(os.path.realpath(path))  # where the file would be made
        if path.is_symlink():
            return "it is a symbolic link that leads back to itself"
    if not path.parent.is_dir():
        return f"{path.parent} is no directory"
    disk = os.statvfs(path.parent)
    if disk.f_flag & os.ST_RDONLY:
        return f"{path.parent} is mounted read-only"
    if disk.f_bavail * disk.f_frsize < LEAST_ROOM:
        return "its disk is full"
    if there:
        return "" if os.access(path, os.W_OK) else _rights(path)
    return _refused(path.parent)


def _disk(path: Path) -> Disk:
    place = nearest(path)
    room = os.statvfs(place)
    return Disk(
        free=room.f_bavail * room.f_frsize,
        # Not what was set aside, which comes on top, nor what is somebody else's.
        used=_taken(path / "containers") + _taken(path / "index"),
        refused=_refused(place),
    )


def _refused(directory: Path) -> str:
    """Why this user can make no files there; empty if it can."""
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        return f"{directory} is mounted read-only"
    return "" if os.access(directory, os.W_OK | os.X_OK) else _rights(directory)


def _rights(path: Path) -> str:
    """Whose it is, and who this is: by numbers, which a container and its host have in common."""
    state = path.stat()
    owned = f"{path} is of user {state.st_uid} and group {state.st_gid}, mode {stat.S_IMODE(state.st_mode):04o}"
    return f"{owned}, and this is user {os.geteuid()}"


def _why_not(path: Path, error: OSError) -> str:
    """The system's words; where rights are missing, also the first directory on the way that it may not enter."""
    words = error.strerror or str(error)
    if not isinstance(error, PermissionError):
        return words
    way = (*reversed(path.parents), path)
    closed = next((each for each in way if not os.access(each, os.X_OK)), None)
    return f"{words}: {_rights(closed)}" if closed else words


def clock(files: Iterable[Path], root: Path = ROOT) -> Clock:
    """`files`: of the site; the clock cannot be right if it is before they were written."""
    return Clock(time.time(), _synchronised(root), max(map(_written, files), default=0.0))


def zone(process: int = 0, root: Path = ROOT) -> Zone | None:
    """As the C library finds it: by TZ of the process's environment, or the host's. None: that may not be read."""
    try:
        environment = (_of(process, root) / "environ").read_text("ascii", errors="replace")
    except OSError:
        return None
    told = dict(word.partition("=")[::2] for word in environment.split("\0"))
    if "TZ" in told:
        name = told["TZ"].removeprefix(":")
        file = root / told.get("TZDIR", _ZONES).lstrip("/") / name
        if name.startswith("/"):
            file = root / name.lstrip("/")
        return Zone(f"TZ={name}", _is_zone(file) or _RULE.match(name) is not None)
    host = root / _LOCALTIME.lstrip("/")
    if not os.path.lexists(host):
        return Zone("", known=True)
    return Zone(os.readlink(host) if host.is_symlink() else _LOCALTIME, _is_zone(host))


def _is_zone(path: Path) -> bool:
    """Its first bytes say so (RFC 9636)."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(4) == b"TZif"
    return False


def _written(path: Path) -> float:
    """0 if it is not there, or is nothing that this user may look at."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _synchronised(root: Path) -> bool | None:
    """The kernel knows what chrony, ntpd and timesyncd tell it; a container may only see the mark of the last."""
    if (root / "run/systemd/timesync/synchronized").exists():
        return True
    state = _adjtimex()
    return None if state < 0 else state != _TIME_ERROR


def _adjtimex() -> int:
    """With modes 0, which it begins with here, it only reads. -1 if that is not allowed."""
    call = getattr(ctypes.CDLL(None), "adjtimex", None)
    return -1 if call is None else int(call(ctypes.create_string_buffer(_TIMEX_BYTES)))


def _modules(directory: Path) -> tuple[str, ...]:
    found = directory.glob("kernel/net/ipv4/tcp_*.ko*")
    return tuple(sorted(path.name.split(".")[0].removeprefix("tcp_") for path in found))


def _least(groups: Iterable[Path], *names: str) -> int | None:
    """The least limit that files of these names tell."""
    told = (_number(group / name) for group in groups for name in names)
    return min((limit for limit in told if limit is not None and limit < _NO_LIMIT), default=None)


def _cores(process: int) -> int:
    with suppress(ProcessLookupError):
        return len(os.sched_getaffinity(process))
    return len(os.sched_getaffinity(0))  # it has ended meanwhile


def _of(process: int, root: Path) -> Path:
    return root / "proc" / str(process or "self")


def _groups(process: int, root: Path, controller: str) -> Iterable[Path]:
    """The process's control group and all above it, by both versions of control groups."""
    for line in _text(_of(process, root) / "cgroup").splitlines():
        number, controllers, place = line.split(":", 2)
        one = controller in controllers.split(",")
        if one or number == "0":
            steps = Path(place.strip("/"))
            yield from (root / "sys/fs/cgroup" / (controller if one else "") / step for step in (steps, *steps.parents))


def _quota(group: Path) -> float | None:
    """Microseconds of each period, which version 2 writes behind it: "max" is all of them, and so is -1."""
    words = _text(group / "cpu.max").split() or [
        word for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us") for word in _text(group / name).split()
    ]
    return int(words[0]) / int(words[1]) if len(words) == 2 and all(word.isdecimal() for word in words) else None


def _available(meminfo: Path) -> int | None:
    for line in _text(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _taken(path: Path) -> int:
    """What a file, or the files of a directory, take on the disk, holes left out."""
    if not path.is_dir():
        return path.lstat().st_blocks * 512 if path.is_file() else 0
    with os.scandir(path) as entries:
        return sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries if entry.is_file())


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", errors="replace")
    except OSError:
        return ""


def _words(path: Path) -> tuple[str, ...] | None:
    return tuple(_text(path).split()) or None


def _number(path: Path) -> int | None:
    words = _text(path).split()
    return int(words[0]) if len(words) == 1 and words[0].isdecimal() else None


def _limits(path: Path) -> Limits | None:
    words = _text(path).split()
    if len(words) != 3 or not all(word.isdecimal() for word in words):
        return None
    return int(words[0]), int(words[1]), int(words[2])


def _switch(path: Path) -> bool | None:
    number = _number(path)
    return None if number is None else number != 0
