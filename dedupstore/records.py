"""Keys and values of the index, packed and unpacked (FORMAT.md, `index/`)."""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from dedupstore.beliefs import PeerNote
from dedupstore.container import MAX_ENTRIES, Container
from dedupstore.errors import Damaged
from dedupstore.roster import Row

ID = Struct(">Q")
"""Key of a container."""
U64 = Struct("<Q")
"""A number as it is in values. The place of a chunk begins with its container's."""
PLACE = Struct("<QHII")
"""Value of a chunk: container, entry, offset in the container's data and length in bytes."""
_ROW = Struct("<IHIQQ")
_EPOCH_BYTES = 8
"""Length of an epoch, as peers are told of it."""
_MOST_ID = 1 << 63
"""The highest id of a container that is believed: no store gets so far, and there are no numbers for many more."""
_BITMAP_BYTES = MAX_ENTRIES // 8


class Meta(NamedTuple):
    """The store's own data in the index."""

    version: int
    identity: bytes
    epochs: tuple[bytes, ...]
    next: int
    clean: bool


def pack_meta(meta: Meta) -> dict[bytes, bytes]:
    """All that is in `meta`, by key."""
    return {
        b"version": meta.version.to_bytes(4, "little"),
        b"identity": meta.identity,
        b"epochs": b"".join(meta.epochs),
        b"next": U64.pack(meta.next),
        b"clean": bytes([meta.clean]),
    }


def unpack_meta(values: dict[bytes, bytes]) -> Meta:
    """Undo `pack_meta`. Raises Damaged if it makes no sense."""
    try:
        epochs = values[b"epochs"]
        meta = Meta(
            int.from_bytes(values[b"version"], "little"),
            values[b"identity"],
            tuple(epochs[start : start + _EPOCH_BYTES] for start in range(0, len(epochs), _EPOCH_BYTES)),
            U64.unpack(values[b"next"])[0],
            values[b"clean"] == b"\1",
        )
    except Exception as error:
        raise Damaged("the index lacks the store's own data") from error
    if len(epochs) % _EPOCH_BYTES or meta.next > _MOST_ID:
        raise Damaged("the store's own data in the index make no sense")
    return meta


def places(held: Container) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of all chunks in a container."""
    for entry, name in enumerate(held.fingerprints):
        yield name, PLACE.pack(held.id, entry, held.offsets[entry] - held.offsets[0], held.length(entry))


def pack_row(row: Row) -> bytes:
    """Value of a container."""
    return _ROW.pack(row.slot, row.entries, row.bytes, row.sealed, row.before)


def unpack_row(value: bytes) -> Row:
    """Undo `pack_row`. Raises struct.error."""
    slot, entries, used, sealed, before = _ROW.unpack(value)
    return Row(slot, entries, used, sealed, settled=True, before=before)


def pack_note(note: PeerNote) -> bytes:
    """Value of a peer's store."""
    return U64.pack(note.seen) + (note.epoch or b"")


def unpack_note(value: bytes) -> PeerNote:
    """Undo `pack_note`. Raises struct.error."""
    return PeerNote(value[8:] or None, U64.unpack_from(value)[0])


def pack_bits(bits: int) -> bytes:
    """Value of belief about one container."""
    return bits.to_bytes(_BITMAP_BYTES, "little").rstrip(b"\0")


def unpack_bits(value: bytes) -> int:
    """Undo `pack_bits`."""
    return int.from_bytes(value, "little")
