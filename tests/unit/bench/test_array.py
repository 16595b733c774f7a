"""The iSCSI target that demo and integration tests use: real tgtd, real qemu-img, no pair between."""

from pathlib import Path

import psutil
import pytest

from bench import array
from bench.array import ArrayFailure, IscsiTarget, copy_volume, identical
from bench.datasets import Dataset
from proxy.cli.ending import ended_in_order
from tests.stand_ins import path_with, stand_in

needs_target = pytest.mark.skipif(bool(IscsiTarget.lacking()), reason=f"no iSCSI target: {IscsiTarget.lacking()}")


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    Dataset("any", 16 << 20, 38, 10).fill(path)
    return path


@pytest.mark.root
@needs_target
def test_a_volume_is_written_to_two_units(site_directory: Path, volume: Path) -> None:
    told: list[float] = []
    size = volume.stat().st_size
    with IscsiTarget(site_directory, [size, size]) as array:
        for number, unit in enumerate(array.units, 1):
            assert not identical(volume, unit)
            assert copy_volume(volume, array.url(number), told.append) > 0
            assert identical(volume, unit)
    assert told[-1] == 100
    assert sorted(path.name for path in site_directory.iterdir()) == ["tgtd.log", "unit1", "unit2"]


@pytest.mark.root
@needs_target
def test_several_targets_at_once(site_directory: Path, tmp_path_factory: pytest.TempPathFactory, volume: Path) -> None:
    other = tmp_path_factory.mktemp("t")
    size = volume.stat().st_size
    with IscsiTarget(site_directory, [size]) as one, IscsiTarget(other, [size]) as two:
        copy_volume(volume, two.url(1))
        assert identical(volume, two.units[0])
        assert not identical(volume, one.units[0])


@pytest.mark.usefixtures("hangups")
def test_a_target_that_is_interrupted_before_it_answers(
    tmp_path: Path, site_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not be told to end, and was waited for all the same: Ctrl-C seemed to do nothing for a minute."""
    interrupted = tmp_path / "interrupted"
    for name, does in (
        ("tgtd", "exec sleep 600"),
        ("tgtadm", f"mkdir {interrupted} 2>/dev/null && kill -TERM $PPID\nexit 1"),
    ):
        stand_in(tmp_path, name, does)
    monkeypatch.setenv("PATH", path_with(tmp_path))
    monkeypatch.setattr(array, "PATIENCE_SECONDS", 3600.0)
    with pytest.raises(KeyboardInterrupt), ended_in_order():
        IscsiTarget(site_directory, [1 << 20]).__enter__()
    assert "sleep" not in [child.name() for child in psutil.Process().children()]


def test_a_path_that_is_too_long_for_its_socket_is_told(tmp_path: Path) -> None:
    """bench-iscsi showed tgtd's log, which knows no remedy."""
    (directory := tmp_path / ("a" * 120)).mkdir()
    with pytest.raises(ArrayFailure, match="is too long a path for tgtd's socket"):
        IscsiTarget(directory, [1 << 20]).__enter__()
    assert not [*directory.iterdir()]


@needs_target
def test_the_initiators_complaint_is_passed_on(volume: Path) -> None:
    with pytest.raises(ArrayFailure, match=r"qemu-img ended with status 1: .*Failed to connect"):
        copy_volume(volume, "iscsi://127.0.0.1:1/iqn.2024-01.org.example:none/1")


def test_an_initiator_that_complains_at_length_is_heard_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for a full pipe to be read, and the bench for it to say more on the other one."""
    stand_in(tmp_path, "qemu-img", "yes | head -c 1000000 >&2\necho no route >&2\nexit 1")
    monkeypatch.setenv("PATH", path_with(tmp_path))
    with pytest.raises(ArrayFailure, match=r"qemu-img ended with status 1: (.|\n)*no route$"):
        copy_volume("volume", "iscsi:")


@pytest.mark.parametrize(
    ("other", "same"), [(b"x" * 9 + b"y", True), (b"x" * 9 + b"z", False), (b"x" * 9, False), (b"", False)]
)
def test_identical_compares_bytes_and_lengths(tmp_path: Path, other: bytes, same: bool) -> None:
    (tmp_path / "one").write_bytes(b"x" * 9 + b"y")
    (tmp_path / "other").write_bytes(other)
    assert identical(tmp_path / "one", tmp_path / "other") is same
