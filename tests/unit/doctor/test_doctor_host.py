"""Reading /proc, /sys and the file system: of a tree that a test wrote, and of this host."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from proxy.doctor import host
from proxy.doctor.facts import Disk, Memory, NoDisk, Processors, Zone
from tests.nobody import directory_of_nobody
from tests.time_zones import time_zone

FILES = {
    "proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic\n",
    "proc/sys/net/ipv4/tcp_allowed_congestion_control": "reno\n",
    "proc/sys/net/ipv4/tcp_congestion_control": "cubic\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304\n",
    "proc/sys/net/ipv4/tcp_window_scaling": "1\n",
    "proc/sys/net/ipv4/tcp_moderate_rcvbuf": "0\n",
    "proc/sys/net/ipv4/tcp_mtu_probing": "2\n",
    "lib/modules/6.1/kernel/net/ipv4/tcp_bbr.ko.xz": "",
    "lib/modules/6.1/kernel/net/ipv4/tcp_vegas.ko": "",
    "proc/meminfo": "MemTotal:       2000 kB\nMemAvailable:    1000 kB\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        write(tmp_path / name, text)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_kernel(root: Path) -> None:
    facts = host.kernel(root, "6.1")
    assert (facts.available, facts.allowed, facts.default) == (("reno", "cubic"), ("reno",), "cubic")
    assert facts.modules == ("bbr", "vegas")
    assert (facts.read, facts.write) == ((4096, 131072, 6291456), (4096, 16384, 4194304))
    assert (facts.scaling, facts.tuning, facts.probing) == (True, False, 2)


def test_a_host_that_tells_nothing(tmp_path: Path) -> None:
    facts = host.kernel(tmp_path, "6.1")
    assert (facts.available, facts.default, facts.read, facts.scaling, facts.probing) == (None,) * 5
    assert facts.modules == ()
    assert host.memory(root=tmp_path) == Memory(None, None)
    assert host.descriptors(4711, tmp_path) == host.descriptors() > 0


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/isthmus.slice/one\n", {"isthmus.slice/one/memory.max": "max", "isthmus.slice/memory.max": "900"}, 900),
        ("0::/a/b\n", {"a/b/memory.max": "800", "a/memory.max": "900"}, 800),
        ("0::/\n", {"memory.max": "700"}, 700),
        ("0::/\n", {}, None),
        ("4:cpu,memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "600"}, 600),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "9223372036854771712"}, None),
    ],
)
def test_memory(root: Path, groups: str, files: dict[str, str], limit: int | None) -> None:
    write(root / "proc/self/cgroup", groups)
    for name, text in files.items():
        write(root / "sys/fs/cgroup" / name, text + "\n")
    assert host.memory(root=root) == Memory(1000 * 1024, limit)


def test_the_memory_from_which_a_control_group_slows_its_processes(root: Path) -> None:
    write(root / "proc/self/cgroup", "0::/a/b\n")
    for name, text in {"a/b/memory.high": "max", "a/memory.high": "700", "a/memory.max": "900"}.items():
        write(root / "sys/fs/cgroup" / name, f"{text}\n")
    assert host.memory(root=root) == Memory(1000 * 1024, 900, 700)


def test_the_limits_of_another_process(root: Path) -> None:
    limits = (
        "Limit           Soft Limit  Hard Limit  Units\n"
        "Max processes   96365       96365       processes\n"
        "Max open files  1024        524288      files\n"
    )
    for name, text in {"memory.max": "900", "memory.high": "700", "cpu.max": "20000 40000"}.items():
        write(root / "sys/fs/cgroup/a" / name, f"{text}\n")
    with subprocess.Popen(["sleep", "300"]) as process:
        try:
            write(root / f"proc/{process.pid}/cgroup", "0::/a\n")
            write(root / f"proc/{process.pid}/limits", limits)
            os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
            assert host.memory(process.pid, root) == Memory(1000 * 1024, 900, 700)
            assert host.descriptors(process.pid, root) == 524288
            assert host.processors(process.pid, root) == Processors(1, 0.5)
        finally:
            process.kill()
    assert host.processors(process.pid, root) == Processors(len(os.sched_getaffinity(0)), 0.5), "it has ended"


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "20000 40000", "a/cpu.max": "150000 100000"}, 0.5),
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/\n", {}, None),
        ("3:cpu,cpuacct:/a\n0::/\n", {"cpu/a/cpu.cfs_quota_us": "25000", "cpu/a/cpu.cfs_period_us": "100000"}, 0.25),
        ("3:cpu,cpuacct:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, None),
        ("3:cpuset:/a\n", {"cpu/a/cpu.cfs_quota_us": "25000", "cpu/a/cpu.cfs_period_us": "100000"}, None),
    ],
)
def test_processors(root: Path, groups: str, files: dict[str, str], quota: float | None) -> None:
    write(root / "proc/self/cgroup", groups)
    for name, text in files.items():
        write(root / "sys/fs/cgroup" / name, text + "\n")
    assert host.processors(root=root) == Processors(len(os.sched_getaffinity(0)), quota)


def test_a_disk(tmp_path: Path) -> None:
    facts = host.disk(tmp_path / "not" / "yet")
    assert isinstance(facts, Disk)
    assert (facts.used, facts.refused) == (0, "")
    assert facts.free > 0


def test_what_a_store_takes_already(tmp_path: Path) -> None:
    with (tmp_path / "containers").open("wb") as file:
        file.write(os.urandom(100_000))
        file.truncate(1 << 30)
    facts = host.disk(tmp_path)
    assert isinstance(facts, Disk)
    assert 100_000 <= facts.used < 1 << 20, "the hole takes nothing"
    for part, size in (("index", 2 << 20), ("set-aside-20261129T015434Z", 4 << 20)):
        (tmp_path / part).mkdir()
        (tmp_path / part / "data").write_bytes(os.urandom(size))
    (tmp_path / "accounts").write_bytes(os.urandom(4 << 20))
    more = host.disk(tmp_path)
    assert isinstance(more, Disk)
    assert 2 << 20 <= more.used - facts.used < 3 << 20, "of the index, not of copies or accounts, which come on top"


def test_a_file_in_the_stores_place(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    for path in (tmp_path / "store", tmp_path / "store" / "below"):
        assert host.disk(path) == NoDisk(f"{tmp_path / 'store'} is not a directory")


def test_a_link_that_leads_nowhere_in_the_stores_place(tmp_path: Path) -> None:
    """As to a disk that is not mounted: the site refuses to start, and all was said to be well."""
    (tmp_path / "store").symlink_to("nowhere")
    for path in (tmp_path / "store", tmp_path / "store" / "below"):
        assert host.disk(path) == NoDisk(f"{tmp_path / 'store'} is not a directory")


@pytest.mark.parametrize("below", ["", "further"])
def test_a_disk_that_this_user_may_not_look_at(below: str) -> None:
    with directory_of_nobody() as path:
        (path / "store").mkdir(0o000)
        found = host.disk(path / "store" / below)
        rights = rights_of(path / "store", 0)
    assert isinstance(found, NoDisk)
    wanted = f"{path / 'store' / below} cannot be looked at: Permission denied: {rights}"
    assert (found.denied, found.words) == (True, wanted)


def test_a_disk_that_this_user_may_not_write_to() -> None:
    """Which user, which directory and which mode was for the operator to find out."""
    with directory_of_nobody() as path:
        (path / "state").mkdir(0o500)
        (path / "history.db").touch(0o400)
        found = host.disk(path / "state" / "store")
        assert isinstance(found, Disk)
        assert found.refused == host.unwritable(path / "state" / "new.db") == rights_of(path / "state", 0o500)
        assert host.unwritable(path / "history.db") == rights_of(path / "history.db", 0o400)


def rights_of(path: Path, mode: int) -> str:
    """In words, of this user's file or directory."""
    user, group = os.geteuid(), path.stat().st_gid
    return f"{path} is of user {user} and group {group}, mode {mode:04o}, and this is user {user}"


def test_the_clock(tmp_path: Path) -> None:
    (tmp_path / "east.toml").touch()
    os.utime(tmp_path / "east.toml", (1e9, 1e9))
    facts = host.clock([tmp_path / "east.toml", tmp_path / "absent"], tmp_path)
    assert facts.not_before == 1e9
    assert abs(facts.now - time.time()) < 60
    assert host.clock([], tmp_path).not_before == 0


@pytest.mark.parametrize(
    ("environment", "zone"),
    [
        ("TZ=Europe/Berlin", Zone("TZ=Europe/Berlin", known=True)),
        ("TZ=:Europe/Berlin", Zone("TZ=Europe/Berlin", known=True)),
        ("TZ=/usr/share/zoneinfo/Europe/Berlin", Zone("TZ=/usr/share/zoneinfo/Europe/Berlin", known=True)),
        ("TZ=Berlin\0TZDIR=/usr/share/zoneinfo/Europe", Zone("TZ=Berlin", known=True)),
        ("TZ=Europe/Berln", Zone("TZ=Europe/Berln", known=False)),
        ("TZ=Europe", Zone("TZ=Europe", known=False)),
        ("TZ=Berlin", Zone("TZ=Berlin", known=False)),
        ("TZ=/etc/passwd", Zone("TZ=/etc/passwd", known=False)),
        ("TZ=5", Zone("TZ=5", known=False)),
        ("TZ=CET-1CEST,M3.5.0,M10.5.0/3", Zone("TZ=CET-1CEST,M3.5.0,M10.5.0/3", known=True)),
        ("TZ=<+03>-3", Zone("TZ=<+03>-3", known=True)),
        ("TZ=", Zone("TZ=", known=True)),
        ("TZ=UTC", Zone("TZ=UTC", known=True)),
        ("HOME=/", Zone("", known=True)),
    ],
)
def test_the_time_zone(root: Path, environment: str, zone: Zone) -> None:
    write(root / "usr/share/zoneinfo/Europe/Berlin", "TZif2\0")
    write(root / "etc/passwd", "root:x:0:0::/:/bin/sh\n")
    write(root / "proc/self/environ", f"PATH=/bin\0{environment}\0")
    assert host.zone(root=root) == zone


def test_what_the_c_library_makes_of_them() -> None:
    """A name that is taken for one of a rule without an offset is UTC by another name."""
    for name, seconds in (("CET-1CEST,M3.5.0,M10.5.0/3", -3600), ("<+03>-3", -10800), ("Europe/Berln", 0)):
        with time_zone(name):
            assert time.timezone == seconds


def test_the_hosts_time_zone(root: Path) -> None:
    assert host.zone(root=root) is None, "what the environment says is not told"
    write(root / "proc/self/environ", "")
    berlin = root / "usr/share/zoneinfo/Europe/Berlin"
    (root / "etc").mkdir()
    (root / "etc/localtime").symlink_to(berlin)
    assert host.zone(root=root) == Zone(str(berlin), known=False)
    write(berlin, "TZif2\0")
    assert host.zone(root=root) == Zone(str(berlin), known=True)
    (root / "etc/localtime").unlink()
    write(root / "etc/localtime", "TZif2\0")
    assert host.zone(root=root) == Zone("/etc/localtime", known=True)


def test_files_in_a_directory_that_this_user_may_not_enter() -> None:
    """For another user than the site's doctor ended there as by a defect, without a finding."""
    with directory_of_nobody() as path:
        (path / "private").mkdir(0o000)
        denied = f"it cannot be looked at: Permission denied: {rights_of(path / 'private', 0)}"
        assert host.unwritable(path / "private" / "history.db") == denied
        assert host.clock([path / "private" / "east.crt"]).not_before == 0


def test_the_mark_of_the_time_service(root: Path) -> None:
    write(root / "run/systemd/timesync/synchronized", "")
    assert host.clock([], root).synchronised is True


def test_this_host() -> None:
    """Whatever it says, reading it raises nothing."""
    assert host.kernel() == host.kernel()
    assert host.memory().limit is None or host.memory().limit
    assert host.processors() == host.processors()
