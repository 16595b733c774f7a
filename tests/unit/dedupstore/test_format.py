"""What lies on disk is what FORMAT.md says, byte for byte (`tests/vectors/dedupstore.json`)."""

import json
from pathlib import Path
from typing import Any

import lmdb
import pytest

from dedupstore import open_store
from dedupstore.container import LARGE, MAX_ENTRIES, SMALL, Container, Layout, read_directory
from dedupstore.errors import Damaged
from dedupstore.fingerprint import fingerprint
from dedupstore.store import CONTAINER_BYTES

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "vectors" / "dedupstore.json").read_text())
CONTAINER: dict[str, Any] = VECTORS["container"]
DIRECTORY = bytes.fromhex(CONTAINER["directory"])
CHUNKS = [bytes.fromhex(pattern) * times for pattern, times in CONTAINER["chunks"]]
DATA = b"".join(CHUNKS)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A store that was filled with the vectors' chunks and closed."""
    store = open_store("disk", 64 << 20, tmp_path, clock=lambda: CONTAINER["sealed"])
    for data in CHUNKS:
        store.put(fingerprint(data), data)
    store.remember(b"p" * 16, b"epoch--1")
    store.believe(b"p" * 16, 1, 0b101)
    store.announce()
    store.close()
    return tmp_path


def test_superblock(written: Path) -> None:
    block = bytearray.fromhex(VECTORS["superblock"]["bytes"])
    head = (written / "containers").read_bytes()[: len(block)]
    assert head[:16] == block[:16]
    assert head[32:] == fingerprint(head[:32])
    assert fingerprint(block[:32]) == block[32:]
    assert block[16:32].hex() == VECTORS["superblock"]["identity"]


def test_a_store_with_the_vectors_superblock_is_known(written: Path) -> None:
    """The identity is replaced in both places, as the vector has it."""
    block = bytes.fromhex(VECTORS["superblock"]["bytes"])
    with (written / "containers").open("r+b") as file:
        file.write(block)
    with lmdb.open(str(written / "index"), max_dbs=8) as index, index.begin(write=True) as txn:
        txn.put(b"identity", block[16:32], db=index.open_db(b"meta", txn))
    store = open_store("disk", 64 << 20, written)
    assert (store.identity, store.alarms) == (block[16:32], ())
    assert store.find(fingerprint(CHUNKS[0])) == (1, 0)
    store.close()


def test_container(written: Path) -> None:
    content = (written / "containers").read_bytes()
    slot = content[CONTAINER["slot"] * CONTAINER_BYTES :]
    assert slot[: len(DIRECTORY)] == DIRECTORY
    assert slot[CONTAINER["data_offset"] :][: len(DATA)] == DATA
    assert len(content) % 4096 == 0


def test_index(written: Path) -> None:
    with lmdb.open(str(written / "index"), max_dbs=8, readonly=True) as index:
        found = {name: contents(index, name) for name in VECTORS["index"]}
    epochs = found["meta"].pop(b"epochs".hex())
    identity = found["meta"].pop(b"identity".hex())
    assert (len(epochs), len(identity)) == (16, 32)
    expected = dict(VECTORS["index"])
    expected["meta"] = {key.encode().hex(): value for key, value in expected["meta"].items()}
    assert found == expected


def contents(index: lmdb.Environment, name: str) -> dict[str, str]:
    with index.begin() as txn:
        database = index.open_db(name.encode(), txn, create=False)
        return {bytes(key).hex(): bytes(value).hex() for key, value in txn.cursor(database)}


def test_reading_the_container_of_the_vectors() -> None:
    memory = memoryview(bytearray(CONTAINER_BYTES))
    memory[: len(DIRECTORY)] = DIRECTORY
    memory[LARGE.data_offset : LARGE.data_offset + len(DATA)] = DATA
    container = Container.decode(memory, 1)
    assert [container.chunk(entry) for entry in range(3)] == CHUNKS
    assert (container.sealed, container.used) == (CONTAINER["sealed"], len(DATA))
    assert container.fingerprints == [fingerprint(data) for data in CHUNKS]


@pytest.mark.parametrize("position", [0, 8, 16, 20, 24, 56, 64, 96, len(DIRECTORY) - 1])
def test_a_flipped_bit_anywhere_in_the_directory_is_noticed(position: int) -> None:
    spoilt = bytearray(DIRECTORY)
    spoilt[position] ^= 1
    with pytest.raises(Damaged, match="container 1"):
        read_directory(spoilt, 1)


@pytest.mark.parametrize("length", [0, 63, 64, len(DIRECTORY) - 1])
def test_a_directory_cut_short_is_noticed(length: int) -> None:
    with pytest.raises(Damaged, match="container 1"):
        read_directory(DIRECTORY[:length], 1)


def test_another_containers_directory_is_not_taken() -> None:
    with pytest.raises(Damaged, match="container 2 is not in its slot"):
        read_directory(DIRECTORY, 2)


@pytest.mark.parametrize(
    ("lengths", "used"), [([1, 2], 4), ([CONTAINER_BYTES, 1], CONTAINER_BYTES + 1), ([2**32 - 1], 2**32 - 1)]
)
def test_a_directory_that_does_not_add_up_is_not_believed(lengths: list[int], used: int) -> None:
    """Its hash is right: whoever made it was broken or malicious."""
    entries = b"".join(bytes(32) + length.to_bytes(4, "little") for length in lengths)
    head = b"ISTHCONT" + (1).to_bytes(8, "little") + len(lengths).to_bytes(4, "little") + used.to_bytes(4, "little")
    proof = fingerprint(head + bytes(8) + entries)
    with pytest.raises(Damaged, match="does not add up"):
        read_directory((head + proof + bytes(8) + entries).ljust(LARGE.data_offset, b"\0"), 1)


def test_the_directory_of_a_full_container_just_fits() -> None:
    assert LARGE.data_offset == 64 + 36 * MAX_ENTRIES


@pytest.mark.parametrize("layout", [SMALL, LARGE], ids=lambda layout: f"{layout.slot_bytes >> 20} MiB")
def test_a_container_takes_no_more_chunks_than_its_directory_has_room_for(layout: Layout) -> None:
    """One more would be written over the first one's bytes."""
    container = Container(1, memoryview(bytearray(layout.slot_bytes)), layout)
    while container.fits(1):
        container.append(bytes(32), b"x")
    assert len(container.fingerprints) == layout.max_entries
    assert Container.decode(container.encode(), 1, layout).chunk(0) == b"x"
    container.append(bytes(32), b"x")
    with pytest.raises(Damaged, match="container 1 is not in its slot"):
        Container.decode(container.encode(), 1, layout)
