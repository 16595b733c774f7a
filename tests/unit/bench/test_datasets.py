"""Data sets: stated percentages hold, seeds reproduce, nothing is held in memory."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from bench.datasets import PAGE, Dataset, field_volumes, recut
from tests.memory import tracing
from tests.unit.bench.measured import compressibility

SAMPLE = 16 << 20


def repeated_pages(volume: Dataset) -> float:
    """Pages that occurred before, in percent of all."""
    seen: set[bytes] = set()
    repeated = 0
    for page in volume.writes(PAGE):
        repeated += page in seen
        seen.add(page)
    return 100 * repeated * PAGE / volume.size


@pytest.mark.parametrize("volume", field_volumes(SAMPLE), ids=lambda volume: volume.kind)
def test_field_volumes_are_as_stated(volume: Dataset) -> None:
    assert compressibility(volume) == pytest.approx(volume.compressibility, abs=1)
    assert repeated_pages(volume) == pytest.approx(volume.duplicates, abs=1)


@pytest.mark.parametrize("percent", [0, 3, 10, 20, 33, 50, 65, 75, 85, 93, 97.5])
def test_any_compressibility_holds_within_a_point(percent: float) -> None:
    assert compressibility(Dataset("any", 2 << 20, percent)) == pytest.approx(percent, abs=1)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("percent", [2, 25, 50, 75, 90, 98, 99.5])
def test_any_share_of_duplicates_holds_within_a_point(percent: float, seed: int) -> None:
    """By the plan of files, whose repetitions are exact (`test_repetitions_are_exact`)."""
    volume = Dataset("any", SAMPLE, 0, percent, seed)
    seen: set[int] = set()
    repeated = 0
    for file in volume.files():
        repeated += file.size if file.number in seen else 0
        seen.add(file.number)
    assert 100 * repeated / volume.size == pytest.approx(percent, abs=1)


def test_repetitions_are_exact() -> None:
    """Every repetition is its original, byte for byte, at a page-aligned offset."""
    volume = Dataset("any", 8 << 20, 38, 50)
    whole, originals, repeated, offset = b"".join(volume), dict[int, bytes](), 0, 0
    for file in volume.files():
        contents = whole[offset : offset + file.size]
        assert offset % PAGE == 0
        assert originals.setdefault(file.number, contents).startswith(contents)
        repeated += originals[file.number] is not contents
        offset += file.size
    assert repeated > 50
    assert offset == volume.size


def test_files_vary_in_size() -> None:
    sizes = [file.size for file in Dataset("any", 2 << 30).files()]
    assert min(sizes) <= 8 << 10
    assert 2 << 20 < max(sizes) <= 4 << 20
    assert sorted(sizes)[len(sizes) // 2] == pytest.approx(64 << 10, rel=0.2)


def test_the_seed_and_the_kind_decide_all_bytes() -> None:
    def head(volume: Dataset) -> bytes:
        return next(iter(volume))

    assert head(Dataset("a", SAMPLE, 38, 10, 1)) == head(Dataset("a", SAMPLE, 38, 10, 1))
    assert head(Dataset("a", SAMPLE, 38, 10, 1)) != head(Dataset("a", SAMPLE, 38, 10, 2))
    assert head(Dataset("a", SAMPLE, 38, 10, 1)) != head(Dataset("b", SAMPLE, 38, 10, 1))


@pytest.mark.parametrize("size", [1, PAGE - 1, PAGE, PAGE + 1, (1 << 20) + 17])
def test_sizes_are_exact(size: int) -> None:
    volume = Dataset("any", size, 38, 10)
    whole = b"".join(volume)
    assert len(whole) == size
    assert b"".join(volume.writes(777)) == whole


@pytest.mark.parametrize("before", [None, b"", b"x" * (3 << 20)], ids=["no file", "empty", "longer"])
def test_a_file_has_the_volume_and_nothing_else(tmp_path: Path, before: bytes | None) -> None:
    volume, file = Dataset("any", (1 << 20) + 17, 38, 10), tmp_path / "volume"
    if before is not None:
        file.write_bytes(before)
    volume.fill(file)
    assert file.read_bytes() == b"".join(volume)


def test_a_file_is_not_cut_before_it_is_written_over(tmp_path: Path) -> None:
    """That would kill a sink that has it mapped (SIGBUS)."""
    file, size, sizes = tmp_path / "volume", 2 << 20, set[int]()

    class Watched(Dataset):
        def __iter__(self) -> Iterator[bytes]:
            for buffer in super().__iter__():
                sizes.add(file.stat().st_size)
                yield buffer

    Dataset("one", size).fill(file)
    Watched("other", size).fill(file)
    assert file.read_bytes() == b"".join(Dataset("other", size))
    assert sizes == {size}


def test_terabytes_need_no_memory() -> None:
    def first(volume: Dataset, count: int) -> Iterator[bytes]:
        return islice(iter(volume), count)

    for _ in first(Dataset("warm up", 1 << 20, 38), 1):
        pass  # the text is made once and kept
    with tracing() as taken:
        for buffer in first(Dataset("any", 1 << 40, 38, 10), 16):
            assert len(buffer) == 1 << 20
    assert taken.most < 8 << 20


def test_plans_of_terabytes_need_no_memory_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that may be repeated are not all kept."""
    monkeypatch.setattr("bench.datasets.KEPT", 200)
    with tracing() as taken:
        most = max(file.number for file in islice(Dataset("any", 1 << 44, 0, 50).files(), 10_000))
    assert most > 20 * 200
    assert taken.most < 256 << 10


@pytest.mark.parametrize(
    ("size", "compressibility", "duplicates", "message"),
    [(0, 0, 0, "at least one byte"), (1, 100, 0, "0 to 99.6"), (1, -1, 0, "compressibility"), (1, 0, 101, "0 to 100")],
)
def test_what_cannot_be_generated_is_refused(
    size: int, compressibility: float, duplicates: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Dataset("any", size, compressibility, duplicates)


def test_recut_keeps_the_bytes() -> None:
    pieces = [b"abc", b"", b"defghij", b"k"]
    assert list(recut(pieces, 4)) == [b"abcd", b"efgh", b"ijk"]
    assert list(recut(pieces, 100)) == [b"abcdefghijk"]
    assert list(recut([], 4)) == []
