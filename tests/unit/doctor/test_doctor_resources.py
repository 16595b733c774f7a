"""Descriptors, CPU, memory and disk against what the configuration may come to need."""

import ctypes
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from proxy.config.model import SiteConfig
from proxy.descriptors import SPARED
from proxy.doctor.facts import Disk, Memory, NoDisk, Processors
from proxy.doctor.findings import Finding, Level
from proxy.doctor.host import unwritable
from proxy.doctor.resources import (
    AT_THE_DOOR,
    ATTEMPTS,
    BASE,
    CONTEXTS,
    FEW_STREAMS,
    LANE_DESCRIPTORS,
    LANES,
    REMEMBERED,
    VISITORS,
    descriptors,
    disk,
    history,
    index,
    memory,
    needed_descriptors,
    processors,
)
from proxy.net.door import PENDING_MAX
from proxy.reduction.comparison import AT_ONCE, Comparison
from proxy.reduction.contexts import ContextReader, ContextWriter
from proxy.reduction.windows import WINDOW_LOG_MIN, WINDOWS_MAX, ContextMemory
from proxy.web.gate import Limits
from tests.unit.config.contract import EAST, WEST
from tests.unit.config.texts import NORTH
from tests.unit.doctor.conftest import site

MIB, GIB = 1 << 20, 1 << 30
PROTOCOL = Path(__file__).parents[3] / "proxy" / "PROTOCOL.md"


def test_a_tunnel_has_as_many_lanes_as_the_protocol_allows() -> None:
    found = re.search(r"A tunnel has at most (\d+) lanes", PROTOCOL.read_text())
    assert found is not None
    assert int(found[1]) == LANES


def test_who_needs_how_many_descriptors(east: SiteConfig, west: SiteConfig) -> None:
    """East opens streams to west, and west could open some to it; west forwards nothing."""
    assert needed_descriptors(east, 1000) - needed_descriptors(east, 0) == 2000
    assert needed_descriptors(west, 1000) - needed_descriptors(west, 0) == 1000
    on_demand = site(EAST + 'range = "10.1.0.0/24"\nports = "3261-3276"\n')
    assert needed_descriptors(on_demand, 0) - needed_descriptors(east, 0) == 16


def test_descriptors_that_are_there_for_whoever_connects(east: SiteConfig) -> None:
    """As many as the site's own limits let in: of strangers, of visitors, and of connections to a peer more."""
    assert (PENDING_MAX, Limits().visits) == (AT_THE_DOOR, VISITORS)
    of_a_peer = LANE_DESCRIPTORS * LANES + ATTEMPTS
    assert needed_descriptors(site(EAST + NORTH), 0) - needed_descriptors(east, 0) == of_a_peer
    dials = site(EAST.replace('listen = "198.18.0.1:4500"', ""))
    assert needed_descriptors(east, 0) - needed_descriptors(dials, 0) == AT_THE_DOOR
    assert needed_descriptors(dials, 0) > of_a_peer + VISITORS


def test_who_has_enough_descriptors_has_enough_for_all_streams() -> None:
    """What arrays leave to others is in the sum, also where nobody is let in."""
    dials = site(EAST.replace('listen = "198.18.0.1:4500"', ""))
    assert needed_descriptors(dials, 0) >= SPARED


@pytest.mark.parametrize(("short", "level"), [(0, Level.OK), (1, Level.ATTENTION)])
def test_descriptors_for_all_streams(east: SiteConfig, short: int, level: Level) -> None:
    needed = needed_descriptors(east, 1024)
    finding = descriptors(east, needed - short)
    assert finding.level is level
    if short:
        assert finding.remedy == (
            f"LimitNOFILE={needed} in the systemd unit, ulimits of a container, or ulimit -n {needed} in the shell;"
            " or fewer tunnel.streams than 1024"
        )


def test_descriptors_that_do_not_even_suffice_for_few_streams(east: SiteConfig) -> None:
    finding = descriptors(east, needed_descriptors(east, FEW_STREAMS) - 1)
    assert finding.level is Level.PROBLEM
    assert f"LimitNOFILE={needed_descriptors(east, 1024)}" in finding.remedy


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (Processors(1, None), "1 core; "),
        (Processors(8, None), "8 cores; "),
        (Processors(8, 1.5), "8 cores, of which the control group allows the time of 1.5; "),
    ],
)
def test_a_core_and_more(facts: Processors, found: str) -> None:
    finding = processors(facts)
    assert finding.level is Level.OK
    assert finding.found == f"{found}the site uses one for its loop, and some of a second for disks"


def test_less_than_a_core() -> None:
    finding = processors(Processors(2, 0.5))
    assert finding.level is Level.ATTENTION
    assert finding.found.startswith("2 cores, of which the control group allows the time of 0.5: the site carries")
    assert finding.remedy.startswith("allow two or more (CPUQuota=200% in the unit, --cpus 2 of a container)")


UNDER_WAY = 256 * MIB
"""192 of plain bytes, and 64 that are not acknowledged."""
TABLES = 2 * GIB // (16 << 10) * REMEMBERED
NEEDED = BASE + UNDER_WAY + CONTEXTS + 2 * GIB + TABLES
"""Of east: itself, what is under way by default, long contexts of one peer, its memory store."""


def test_memory_that_suffices(east: SiteConfig) -> None:
    finding = only(list(memory(east, Memory(NEEDED, None), filled=False)))
    assert finding.level is Level.OK
    assert finding.found.startswith(
        "the site may take 2.69 GiB (store.size 2 GiB, its tables 37.5 MiB, under way 256 MiB, compression 286 MiB,"
    )


def test_memory_that_is_short(east: SiteConfig) -> None:
    finding = only(list(memory(east, Memory(NEEDED - 100 * MIB, None), filled=False)))
    assert finding.level is Level.PROBLEM
    assert "lower store.size, or tunnel.memory and tunnel.unacked; or free 100 MiB of memory" in finding.remedy


def test_a_disk_store_needs_memory_for_its_cache(west: SiteConfig) -> None:
    finding = only(list(memory(west, Memory(BASE + UNDER_WAY + CONTEXTS + 159 * MIB, None), filled=False)))
    assert finding.level is Level.PROBLEM
    assert finding.remedy.startswith("lower store.cache")


def test_a_disk_store_whose_tables_are_more_than_its_cache_has_to_be_smaller() -> None:
    """100 TiB have a list of 11 GiB: no smaller cache makes up for that."""
    finding = only(list(memory(site(WEST.replace("10GiB", "100TiB")), Memory(8 * GIB, None), filled=False)))
    assert finding.level is Level.PROBLEM
    assert "its tables 10.9 GiB" in finding.found
    assert finding.remedy.startswith("lower store.size")


def test_a_running_site_has_its_stores_memory_already(east: SiteConfig) -> None:
    """But not what compression takes once streams are there, nor the store's tables until it is full."""
    facts = Memory(UNDER_WAY + CONTEXTS + 38 * MIB, None)
    assert only(list(memory(east, facts, filled=True))).level is Level.OK
    assert only(list(memory(east, facts, filled=False))).level is Level.PROBLEM
    short = only(list(memory(east, Memory(UNDER_WAY + CONTEXTS, None), filled=True)))
    assert short.level is Level.PROBLEM
    assert "are free beside the running site's store" in short.found


def test_a_control_group_that_allows_less(east: SiteConfig) -> None:
    limited, free = list(memory(east, Memory(8 * GIB, NEEDED - 1), filled=False))
    assert (limited.level, free.level) == (Level.PROBLEM, Level.OK)
    assert f"MemoryMax={-(-NEEDED >> 20) + 256}M" in limited.remedy, "with room for a peer that was taken over"
    assert only(list(memory(east, Memory(8 * GIB, NEEDED), filled=False))).level is Level.OK


def test_a_control_group_that_slows_the_site_down(east: SiteConfig) -> None:
    """It does so long before there is no more memory: the site seemed to hang, and all was said to be well."""
    slowed, free = list(memory(east, Memory(8 * GIB, NEEDED, NEEDED - 1), filled=False))
    assert (slowed.level, free.level) == (Level.ATTENTION, Level.OK)
    assert "; from 2.69 GiB on the control group slows it down (memory.high)" in slowed.found
    assert f"MemoryHigh={-(-NEEDED >> 20) + 256}M" in slowed.remedy
    assert only(list(memory(east, Memory(8 * GIB, None, NEEDED), filled=False))).level is Level.OK


def test_memory_that_nobody_tells(east: SiteConfig) -> None:
    finding = only(list(memory(east, Memory(None, None), filled=False)))
    assert (finding.level, finding.remedy) == (Level.ATTENTION, "see that 2.69 GiB are free")


def test_a_large_disk_store_has_a_list_of_its_containers(west: SiteConfig) -> None:
    large = west.model_copy(update={"store": west.store.model_copy(update={"size": 10 << 40})})
    enough = BASE + UNDER_WAY + CONTEXTS + 160 * MIB
    assert only(list(memory(west, Memory(enough + 3 * MIB, None), filled=False))).level is Level.OK
    assert only(list(memory(large, Memory(enough + GIB, None), filled=False))).level is Level.PROBLEM
    assert only(list(memory(large, Memory(enough + 2 * GIB, None), filled=False))).level is Level.OK


def test_an_index_that_does_not_fit_into_memory(west: SiteConfig) -> None:
    """Of 10 GiB it has 80 MiB."""
    assert not list(index(west, Memory(81 * MIB, None)))
    finding = only(list(index(west, Memory(79 * MIB, None))))
    assert finding.level is Level.ATTENTION
    assert "has 80 MiB, and the system can keep 79 MiB in memory" in finding.found


def test_a_memory_store_has_no_index(east: SiteConfig) -> None:
    assert not list(index(east, Memory(0, None)))


def room(free: int, used: int = 0, refused: str = "") -> Disk:
    return Disk(free, used, refused)


def test_a_store_in_memory_needs_no_disk(east: SiteConfig) -> None:
    assert only(list(disk(east, None))).level is Level.OK


@pytest.mark.parametrize(
    "facts", [room(10 * GIB), room(GIB, used=9 * GIB), room(0, used=10 * GIB), room(0, used=10 * GIB + 4 * MIB)]
)
def test_a_disk_with_room(west: SiteConfig, facts: Disk) -> None:
    """A full store is somewhat more than its size: its lock, and the rest of a block here and there."""
    assert only(list(disk(west, facts))).level is Level.OK


def test_a_store_that_will_be_made_smaller(west: SiteConfig) -> None:
    """Before it is: a digit too few is told while nothing is lost yet."""
    assert only(list(disk(west, room(0, used=10 * GIB + 5 * MIB)))).level is Level.ATTENTION
    finding = only(list(disk(west, room(0, used=11 * GIB))))
    assert finding.level is Level.ATTENTION
    assert finding.found.endswith("holds 11 GiB: the next start drops what is beyond 10 GiB")


def test_a_disk_that_is_full_before_the_store_is(west: SiteConfig) -> None:
    finding = only(list(disk(west, room(3 * GIB, used=2 * GIB))))
    assert finding.level is Level.PROBLEM
    assert "2 GiB of 10 GiB are there already, 3 GiB are free" in finding.found
    assert finding.remedy == 'free 5 GiB, or lower store.size: at most "5120MiB"'


def test_a_disk_without_room_for_the_smallest_store(west: SiteConfig) -> None:
    assert only(list(disk(west, room(0)))).remedy == "free 10 GiB"
    assert only(list(disk(west, room(64 * MIB - 1)))).remedy == "free 9.94 GiB"
    assert only(list(disk(west, room(64 * MIB)))).remedy == 'free 9.94 GiB, or lower store.size: at most "64MiB"'


def test_the_smaller_size_is_one_that_a_file_takes_and_that_fits(west: SiteConfig) -> None:
    """79.1 MiB are no whole bytes, and a size with a space is none."""
    here = room(27 * MIB + MIB // 5, used=52 * MIB)
    remedy = only(list(disk(west, here))).remedy
    smaller = site(WEST.replace("10GiB", remedy.rpartition("at most ")[2].strip('"')))
    assert only(list(disk(smaller, here))).level is Level.OK


def test_a_directory_that_cannot_be_written(west: SiteConfig) -> None:
    finding, _ = disk(west, room(10 * GIB, refused="/srv is mounted read-only"))
    assert finding.level is Level.PROBLEM
    assert finding.found == f"{west.store.path} cannot be written: /srv is mounted read-only"
    assert "chown" in finding.remedy


def test_a_path_that_is_no_directory(west: SiteConfig) -> None:
    finding = only(list(disk(west, NoDisk("/srv/store is not a directory"))))
    assert (finding.level, finding.found) == (Level.PROBLEM, "/srv/store is not a directory")
    assert finding.remedy == "name a directory of a local disk as store.path, or move away what is there"


def test_a_store_that_this_user_may_not_look_at(west: SiteConfig) -> None:
    """Nothing need be wrong with it; at least nobody has to move it."""
    denied = NoDisk("/srv/store cannot be looked at: Permission denied", denied=True)
    finding = only(list(disk(west, denied, "run this as isthmus")))
    assert (finding.level, finding.found) == (Level.ATTENTION, denied.words)
    assert finding.remedy == "run this as isthmus"
    own = only(list(disk(west, denied)))
    assert own.level is Level.PROBLEM
    assert own.remedy == "let the site's user read and write there (chown), or run this as that user"


def test_history_is_kept_where_it_can_be_written(tmp_path: Path) -> None:
    for place in ("east-history.db", "missing/east-history.db"):
        finding = history(tmp_path / place, unwritable(tmp_path / place))
        assert finding.level is (Level.ATTENTION if "missing" in place else Level.OK)
    assert "a restart forgets them" in finding.found
    assert "status.history" in finding.remedy
    (tmp_path / "directory").mkdir()
    assert unwritable(tmp_path / "directory") == "it is a directory"


def test_history_behind_a_link(tmp_path: Path) -> None:
    """Where the site could not make it, all was said to be fine: as where a disk is not mounted."""
    kept = tmp_path / "east-history.db"
    disk = tmp_path / "disk"
    kept.symlink_to(disk / "east-history.db")
    assert unwritable(kept) == f"{disk} is no directory"
    disk.mkdir()
    assert unwritable(kept) == ""
    (disk / "east-history.db").symlink_to(kept)
    assert unwritable(kept) == "it is a symbolic link that leads back to itself"


def test_history_on_a_disk_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose directory it is has nothing to do with it."""
    (tmp_path / "there.db").touch()
    monkeypatch.setattr("os.statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert {unwritable(tmp_path / name) for name in ("there.db", "new.db")} == {f"{tmp_path} is mounted read-only"}


def test_history_on_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is little to be done with a file that cannot grow either."""
    (tmp_path / "there.db").touch()
    monkeypatch.setattr("os.statvfs", lambda path: SimpleNamespace(f_flag=0, f_bavail=255, f_frsize=4096))
    assert {unwritable(tmp_path / name) for name in ("there.db", "new.db")} == {"its disk is full"}
    finding = history(tmp_path / "new.db", "its disk is full")
    assert finding.level is Level.ATTENTION


class _Allocated(ctypes.Structure):
    """mallinfo2(3)."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("a", "b", "c", "d", "hblkhd", "e", "f", "uordblks", "g", "h")]


def test_contexts_take_no_more_than_is_said() -> None:
    """Where many streams share it, in windows of 1 MiB, each of which has tables and buffers of its own."""
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if ask is None:
        pytest.skip("the C library does not say what it has given")
    ask.restype = _Allocated

    def allocated() -> int:
        found = ask()
        return int(found.uordblks + found.hblkhd)

    before, account = allocated(), ContextMemory()
    writers = [ContextWriter(12, WINDOW_LOG_MIN) for _ in range(WINDOWS_MAX >> WINDOW_LOG_MIN)]
    readers = [ContextReader(account) for _ in writers]
    for writer, reader in zip(writers, readers, strict=True):
        assert reader.decode(writer.encode(b"literals"), 8) == b"literals"
    compared = [Comparison(9, 12) for _ in range(AT_ONCE)]
    assert [comparison.see(b"literals") for comparison in compared] == [None] * AT_ONCE
    assert account.used == WINDOWS_MAX
    assert 0.9 * CONTEXTS < allocated() - before < CONTEXTS
