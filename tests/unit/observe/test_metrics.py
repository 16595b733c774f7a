"""Volumes as Prometheus reads them: its own parser, and what it takes for granted of counters and histograms."""

import pytest
from prometheus_client.core import Metric

from proxy.observe.advice import advise
from proxy.observe.snapshot import AdviceStatus, CertificateStatus
from proxy.observe.volume_status import volume_status
from proxy.observe.volumes import VOLUMES_MAX, Volume, VolumeName, Volumes
from tests.unit.observe.exposition import exposed, samples
from tests.unit.observe.snapshots import NOW, changed, with_peer

SERIES_MAX = 60
"""For each volume that is told apart, at most."""


@pytest.mark.parametrize(("draining", "accepts"), [(False, 1), (True, 0)])
def test_a_site_that_drains_is_not_ready(draining: bool, accepts: int) -> None:
    assert samples(changed(draining=draining), "isthmus_ready") == [({}, accepts)]


def test_of_two_certificates_with_one_name_the_first_end_counts() -> None:
    """A CA's file may have the old and the new one."""
    both = [CertificateStatus("ca", "CN=backup", NOW + days) for days in (400, 20, 300)]
    found = samples(changed(certificates=both), "isthmus_certificate_expires_timestamp_seconds")
    assert found == [({"role": "ca", "name": "CN=backup"}, NOW + 20)]


def of_volumes(volumes: Volumes, advice: AdviceStatus | None = None) -> dict[str, Metric]:
    """The metrics about volumes of a site whose peer has these."""
    snapshot = with_peer(volumes=[volume_status(volume) for volume in volumes.all()], advice=advice)
    return exposed(snapshot, lambda name: name.startswith(("isthmus_volume", "isthmus_faster")))


def written(volumes: Volumes, target: str, *sizes: int) -> Volume:
    volume = volumes.find(VolumeName("forward replication", target, "0"))
    volumes.enter(volume)
    for size in sizes:
        volume.began(volume.writes, 0, size)
        volume.ended(volume.writes, size, 0.003, good=True)
    return volume


def values(family: Metric, target: str) -> dict[str, float]:
    """Of a volume's writes, by the end of the name and the bound."""
    return {
        sample.name.removeprefix(family.name) + sample.labels.get("le", ""): sample.value
        for sample in family.samples
        if sample.labels["target"] == target and sample.labels.get("access", "write") == "write"
    }


def test_histograms_rise_and_end_with_all() -> None:
    volumes = Volumes()
    written(volumes, "iqn.a", 512, 1024, 1025, 65536, 8 << 20)
    sizes = values(of_volumes(volumes)["isthmus_volume_command_bytes"], "iqn.a")
    assert (sizes["_count"], sizes["_sum"]) == (5, 512 + 1024 + 1025 + 65536 + (8 << 20))
    buckets = [value for name, value in sizes.items() if name.startswith("_bucket")]
    assert buckets == [2, 3, 3, 4, 4, 4, 4, 5]
    assert sizes["_bucket1024.0"] == 2
    assert sizes["_bucket65536.0"] == 4


@pytest.mark.parametrize("name", ['"', "\\", '\\"\\n{}', "others", "é" * 60])
def test_any_name_is_a_label(name: str) -> None:
    volumes = Volumes()
    written(volumes, name, 512)
    named = [sample.labels for sample in of_volumes(volumes)["isthmus_volume_outstanding"].samples]
    assert {"peer": "west", "share": "forward replication", "target": name, "unit": "0"} in named


def test_the_past_of_a_volume_that_makes_room_is_no_burst() -> None:
    """Its series ends, and no other one leaps: the sum of what all have gained is what was moved."""
    volumes = Volumes()
    for number in range(VOLUMES_MAX):
        volumes.leave(written(volumes, f"iqn.{number}", 65536))
    before = moved(volumes)
    written(volumes, "iqn.new", 512)
    after = moved(volumes)
    assert len(before.keys() - after.keys()) == 1
    assert sum(after[name] - before.get(name, 0) for name in after) == 512
    assert sum(volume.bytes for volume in volumes.all()) == VOLUMES_MAX * 65536 + 512


def moved(volumes: Volumes) -> dict[str, float]:
    """Bytes by target, as Prometheus has them."""
    samples = of_volumes(volumes)["isthmus_volume_command_bytes"].samples
    return {
        sample.labels["target"]: sample.value
        for sample in samples
        if sample.name.endswith("_sum") and sample.labels["access"] == "write"
    }


def test_series_are_bounded() -> None:
    volumes = Volumes()
    for number in range(VOLUMES_MAX * 2):
        written(volumes, f"iqn.{number}", 512)
    series = sum(
        len(family.samples) for name, family in of_volumes(volumes).items() if name.startswith("isthmus_volume")
    )
    assert VOLUMES_MAX < series <= SERIES_MAX * (VOLUMES_MAX + 1)


@pytest.mark.parametrize(("rate", "zone"), [(1e6, "green"), (4e7, "yellow"), (6e7, "red"), (None, None)])
def test_the_zone(rate: float | None, zone: str | None) -> None:
    advice = None if rate is None else advise(rate, 1 << 20)
    samples = of_volumes(Volumes(), advice)["isthmus_faster_line"].samples
    assert {sample.labels["zone"] for sample in samples} == {"green", "yellow", "red"}
    assert [sample.labels["zone"] for sample in samples if sample.value] == ([] if zone is None else [zone])
