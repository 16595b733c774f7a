"""A store as a stranger reads it who has only FORMAT.md: nothing here comes from `dedupstore`.

`Reader` yields each chunk that the index leads to, and notes in `broken` what contradicts the document. It may read a
store that is closed, open in another process, or left by one that was killed.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb
from blake3 import blake3

DATA_AREA = {2 << 20: 20480, 4 << 20: 40960}
MOST_ENTRIES = {2 << 20: 567, 4 << 20: 1136}
PAGE = 4096
LONGEST = 256 << 10


def hash_of(data: bytes) -> bytes:
    return blake3(data).digest()


class Reader:
    """Reads the files anew each time."""

    def __init__(self, path: Path) -> None:
        self.broken: list[str] = []
        self._containers = path / "containers"
        with self._containers.open("rb") as file:
            block = file.read(64)
            self.file_bytes = os.fstat(file.fileno()).st_size
        magic, version, self.slot_bytes, self.identity, proof = struct.unpack("<8sII16s32s", block)
        self._hold((magic, version) == (b"ISTHSTOR", 1), "superblock")
        self._hold(proof == hash_of(block[:32]), "hash of the superblock")
        self._hold(self.slot_bytes in DATA_AREA, "size of slots")
        self._read_index(path / "index")

    def _read_index(self, path: Path) -> None:
        with lmdb.open(os.fspath(path), readonly=True, lock=False, max_dbs=5) as index, index.begin() as txn:
            tables = [contents(index, txn, name) for name in (b"meta", b"chunk", b"container", b"peer", b"belief")]
        meta, chunks, rows, peers, beliefs = tables
        self._hold(meta.keys() == {b"version", b"identity", b"epochs", b"next", b"clean"}, "keys of meta")
        self._hold((meta[b"version"], meta[b"identity"]) == (b"\1\0\0\0", self.identity), "version and identity")
        self.epochs = [meta[b"epochs"][start : start + 8] for start in range(0, len(meta[b"epochs"]), 8)]
        self._hold(len(self.epochs) <= 16 and len(meta[b"epochs"]) % 8 == 0, "epochs")
        (self.next,) = struct.unpack("<Q", meta[b"next"])
        self.clean = meta[b"clean"] == b"\1"
        self.places = {name: struct.unpack("<QHII", place) for name, place in chunks.items()}
        self.rows = {number(key): struct.unpack("<IHIQQ", row) for key, row in rows.items()}
        self._holders = {row[0]: container for container, row in sorted(self.rows.items())}
        self.peers = {peer: (struct.unpack("<Q", note[:8])[0], note[8:]) for peer, note in peers.items()}
        self.beliefs = {(key[:16], number(key[16:])): int.from_bytes(bits, "little") for key, bits in beliefs.items()}
        self._check_index()

    def _check_index(self) -> None:
        self._hold(all(0 < container < self.next for container in self.rows), "ids are below the next one")
        self._hold(all(slot > 0 for slot in self._holders), "slots count from 1")
        self._hold(all(before < container for container, (*_, before) in self.rows.items()), "containers before")
        for container, (_, entries, used, _, _) in self.rows.items():
            own = [place for place in self.places.values() if place[0] == container]
            self._hold((len(own), sum(place[3] for place in own)) == (entries, used), f"row of container {container}")
        self._hold({peer for peer, _ in self.beliefs} <= self.peers.keys(), "belief about peers")
        self._hold({container for _, container in self.beliefs} <= self.rows.keys(), "belief about containers")
        self._hold(all(len(epoch) in (0, 8) for _, epoch in self.peers.values()), "epochs of peers")

    def chunks(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Each fingerprint that the index leads to, and the chunk; None if what lies there is not that chunk."""
        with self._containers.open("rb") as file:
            for name, (container, _, offset, length) in self.places.items():
                slot = self.rows[container][0] if container in self.rows else 0
                if self._holders.get(slot) != container:
                    continue
                file.seek(slot * self.slot_bytes + DATA_AREA[self.slot_bytes] + offset)
                data = file.read(length)
                yield name, data if hash_of(data) == name else None

    def sound(self) -> dict[bytes, bytes]:
        """The chunks that are what their fingerprints say."""
        return {name: data for name, data in self.chunks() if data is not None}

    def check_directories(self) -> None:
        """Compare what is in front of each container with the index. Of a store that was killed they may differ."""
        for container in self.rows:
            entries = self._directory(container)
            for name, (holder, entry, offset, length) in self.places.items():
                if holder == container:
                    self._hold(entries[entry] == (name, offset, length), f"entry {entry} of container {container}")

    def has_directory(self, container: int) -> bool:
        """Whether what is in front of the container is its own, and right."""
        before = len(self.broken)
        self._directory(container)
        found, self.broken = self.broken[before:], self.broken[:before]
        return not found

    def _directory(self, container: int) -> list[tuple[bytes, int, int]]:
        """Fingerprint, offset and length of each chunk of the container."""
        slot, *_, sealed, _ = self.rows[container]
        with self._containers.open("rb") as file:
            file.seek(slot * self.slot_bytes)
            front = file.read(DATA_AREA[self.slot_bytes])
        magic, found, count, used, proof, time = struct.unpack_from("<8sQII32sQ", front)
        end = 64 + 36 * count
        self._hold((magic, found, time) == (b"ISTHCONT", container, sealed), f"head of container {container}")
        self._hold(proof == hash_of(front[:24] + front[56:end]), f"hash of container {container}")
        self._hold(0 < count <= MOST_ENTRIES[self.slot_bytes], f"entries of container {container}")
        entries, offset = [], 0
        for name, length in struct.iter_unpack("<32sI", front[64:end]):
            self._hold(0 < length <= LONGEST, f"lengths in container {container}")
            entries.append((name, offset, length))
            offset += length
        self._hold(offset == used <= self.slot_bytes - DATA_AREA[self.slot_bytes], f"bytes of container {container}")
        written = -(-(slot * self.slot_bytes + DATA_AREA[self.slot_bytes] + used) // PAGE) * PAGE
        self._hold(written <= self.file_bytes, f"container {container} is within the file")
        return entries

    def _hold(self, true: bool, what: str) -> None:
        if not true:
            self.broken.append(what)


def contents(index: Any, txn: Any, name: bytes) -> dict[bytes, bytes]:
    return dict(txn.cursor(index.open_db(name, txn, create=False)))


def number(key: bytes) -> int:
    return int.from_bytes(key, "big")
