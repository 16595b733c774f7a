"""Counts of volumes, at times that a test sets."""

import pytest

from proxy.observe.volume_status import volume_status
from proxy.observe.volumes import (
    FORMER,
    NAMES_MAX,
    OTHERS,
    RUNS_MAX,
    VOLUMES_MAX,
    Commands,
    Rate,
    Volume,
    VolumeName,
    Volumes,
)

KiB, MiB = 1 << 10, 1 << 20


def named(number: int) -> VolumeName:
    return VolumeName("forward replication", "iqn.a", str(number))


def entered(volumes: Volumes, number: int) -> Volume:
    """By a connection that uses it."""
    volume = volumes.find(named(number))
    volumes.enter(volume)
    return volume


def written(volumes: Volumes, number: int, size: int) -> Volume:
    """One write by a connection that comes and goes."""
    volume = entered(volumes, number)
    volume.began(volume.writes, 0, size)
    volume.ended(volume.writes, size, 0.001, good=True)
    volumes.leave(volume)
    return volume


def test_a_command_counts_with_its_status() -> None:
    volume = Volume(named(1))
    volume.began(volume.reads, 0, 4 * KiB)
    volume.began(volume.writes, 0, 64 * KiB)
    volume.began(volume.writes, 64 * KiB, 64 * KiB)
    assert (volume.outstanding, volume.bytes) == (3, 0)
    volume.ended(volume.writes, 64 * KiB, 0.003, good=True)
    volume.ended(volume.reads, 4 * KiB, 0.0001, good=False)
    volume.drop()
    status = volume_status(volume)
    assert (status.outstanding, status.outstanding_peak, status.dropped) == (0, 3, 1)
    assert (status.reads.commands, status.reads.bytes, status.reads.failed) == (0, 0, 1)
    assert (status.writes.commands, status.writes.bytes, status.writes.failed) == (1, 64 * KiB, 0)
    assert dict(zip(status.writes.sizes.bounds, status.writes.sizes.counts, strict=False))[64 * KiB] == 1
    assert dict(zip(status.writes.seconds.bounds, status.writes.seconds.counts, strict=False))[0.004] == 1
    assert status.writes.seconds.total == 0.003


def test_one_after_another_is_sequential() -> None:
    writes = Commands()
    for n in range(5):
        writes.began(n * KiB, KiB)
    assert (writes.sequential, writes.random) == (4, 1)


def test_several_sequences_beside_one_another_are_sequential() -> None:
    """As many as are remembered; with one more, each drives out the one that would be wanted next."""
    for sequences, sequential in ((RUNS_MAX, RUNS_MAX * 9), (RUNS_MAX + 1, 0)):
        reads = Commands()
        for n in range(10):
            for start in range(sequences):
                reads.began(start * MiB + n * KiB, KiB)
        assert (reads.sequential, reads.random) == (sequential, sequences * 10 - sequential)


def test_the_same_place_again_is_random() -> None:
    writes = Commands()
    for _ in range(5):
        writes.began(8 * KiB, KiB)
    assert (writes.sequential, writes.random) == (0, 5)


def test_rates_are_of_ten_seconds() -> None:
    rate = Rate()
    counts = [0, 0, 100, 400, 500, *[500] * 10, 510]
    seen = []
    for now, count in enumerate(counts):
        rate.note(count, float(now))
        seen.append(rate.now)
    assert seen[4] == 50
    assert seen[11] == 50
    assert (rate.now, rate.busiest) == (1, 50)


def test_a_stall_makes_no_busy_seconds() -> None:
    """What came while nobody looked is spread over that time."""
    rate = Rate()
    rate.note(0, 0.0)
    rate.note(6000, 60.0)
    assert rate.busiest == 100


def test_counts_survive_connections() -> None:
    volumes = Volumes()
    assert written(volumes, 1, KiB) is written(volumes, 1, KiB)
    first, others = volumes.all()
    assert (first.name, first.connections, first.bytes) == (named(1), 0, 2 * KiB)
    assert (others.name, others.bytes) == (OTHERS, 0)


def test_the_largest_are_told_apart() -> None:
    """One too many: the smallest that nobody uses makes room; nothing of it is lost."""
    volumes = Volumes()
    for number in range(VOLUMES_MAX):
        written(volumes, number, (number + 1) * KiB)
    used = entered(volumes, 0)
    written(volumes, VOLUMES_MAX, 100 * KiB)
    names = [volume.name for volume in volumes.all()]
    assert len(names) == VOLUMES_MAX + 2
    assert names[0] == named(VOLUMES_MAX)
    assert named(0) in names
    assert named(1) not in names
    assert names[-2:] == [OTHERS, FORMER]
    assert [volume.bytes for volume in volumes.all()[-2:]] == [0, 2 * KiB]
    assert used is not volumes.others


def test_while_all_are_in_use_a_new_one_counts_among_the_others() -> None:
    volumes = Volumes()
    for number in range(VOLUMES_MAX):
        entered(volumes, number)
    assert entered(volumes, VOLUMES_MAX) is volumes.others
    assert volumes.others.connections == 1


def test_names_without_end_are_not_told_apart_without_end() -> None:
    """Who has been told apart will be again; what is new beyond the bound counts among the others."""
    volumes, seen = Volumes(), set()
    for number in range(2 * NAMES_MAX):
        written(volumes, number, KiB)
        seen |= {volume.name for volume in volumes.all()}
    assert len(seen) == NAMES_MAX + 2
    assert sum(volume.bytes for volume in volumes.all()) == 2 * NAMES_MAX * KiB
    assert written(volumes, 0, KiB).name == named(0)


def test_joining_the_former_ones_is_no_burst_of_writes() -> None:
    volumes = Volumes()
    for number in range(VOLUMES_MAX):
        written(volumes, number, 100 * MiB)
    for now in range(30):
        volumes.sample(float(now))
    busiest = volumes.written.busiest
    assert busiest == VOLUMES_MAX * 10 * MiB
    written(volumes, VOLUMES_MAX, KiB)
    for now in range(30, 60):
        volumes.sample(float(now))
    former = volumes.all()[-1]
    assert (former.name, former.bytes, former.written.busiest) == (FORMER, 100 * MiB, 10 * MiB)
    assert volumes.written.busiest == busiest


def test_the_first_to_join_the_former_ones_brings_its_past_not_a_rate() -> None:
    """A thousand seconds of 1 MiB each, and nothing since: no burst when it makes room for another volume."""
    volumes = Volumes()
    for now in range(1000):
        written(volumes, 0, MiB)
        volumes.sample(float(now))
    for number in range(1, VOLUMES_MAX):
        written(volumes, number, 2000 * MiB)
    for now in range(1000, 1030):
        volumes.sample(float(now))
    written(volumes, VOLUMES_MAX, KiB)
    volumes.sample(1030.0)
    former = volumes.all()[-1]
    assert (former.name, former.bytes) == (FORMER, 1000 * MiB)
    assert (former.written.now, former.written.busiest) == (0, MiB)


def test_the_average_of_all_writes() -> None:
    volumes = Volumes()
    assert volumes.average_write == 0
    written(volumes, 1, KiB)
    written(volumes, 2, 3 * KiB)
    assert volumes.average_write == 2 * KiB


@pytest.mark.parametrize("number", [0, VOLUMES_MAX])
def test_a_volume_that_was_never_written_has_no_advice(number: int) -> None:
    volumes = Volumes()
    entered(volumes, number)
    assert volume_status(volumes.all()[0]).advice is None
