"""A bit that flips between an array and its proxy is caught by the digests of the arrays, exactly as without the pair.

The pair computes digests anew at the far side, from bytes that it has verified; one that was wrong on arrival has to
arrive as wrong as it was. Without digests nobody can notice: then the pair delivers that one bit flipped, and no other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.array import IQN, IscsiTarget
from bench.initiator import cdb
from bench.initiator.initiator import Initiator
from bench.initiator.login import Wishes
from bench.initiator.pdu import DIGEST_BYTES, HEADER_BYTES, WrongDigest
from tests.integration.bed.contents import volume
from tests.integration.bed.ends import same
from tests.integration.bed.sites import eventually
from tests.integration.iscsi.stage import ANY_DIGEST, DIRECT, Stage, forwarded, skip_without_tools
from tests.integration.iscsi.tap import Tap

pytestmark = [pytest.mark.root, pytest.mark.serial]

SECTORS = 64
SIZE = SECTORS * cdb.SECTOR
INSIDE = 5000
"""A byte of the data."""
OLD = bytes(SIZE)
CAUGHT, UNNOTICED = "caught", "unnoticed"
BOTH = Wishes(IQN, header_digest="CRC32C", data_digest="CRC32C")
HEADERS = Wishes(IQN, header_digest="CRC32C")
NONE = Wishes(IQN)
PLACES = {
    "data": HEADER_BYTES + DIGEST_BYTES + INSIDE,
    "header": HEADER_BYTES - 1,
    "header, data's length": 7,
    "header digest": HEADER_BYTES,
    "data digest": HEADER_BYTES + DIGEST_BYTES + SIZE,
}
"""Offsets in a PDU that carries all the data and both digests."""


@pytest.fixture(scope="module")
def stage(directory: Path) -> Iterator[tuple[Stage, Tap]]:
    """With a tap at the target, too."""
    skip_without_tools()
    with (
        IscsiTarget(directory, [1 << 20], parameters=ANY_DIGEST) as target,
        Tap(target.address) as tap,
        forwarded(directory, tap.address) as (east, west, ways),
    ):
        yield Stage(target, east, west, {DIRECT: tap.address, **ways}), tap


@contextmanager
def logged_in(stage: Stage, way: str, wishes: Wishes) -> Iterator[tuple[Initiator, Tap]]:
    """An initiator behind a tap of its own, and that tap; the unit has only old data."""
    with Tap(stage.ways[way]) as tap, Initiator(tap.address, wishes) as initiator:
        initiator.ready(1)
        stage.target.units[0].write_bytes(OLD)
        yield initiator, tap


def write(stage: Stage, way: str, place: int, wishes: Wishes) -> tuple[str, bytes]:
    """Write; a bit flips at that place of the PDU that has the data. Whether it was noticed, and what is written."""
    with logged_in(stage, way, wishes) as (initiator, tap):
        tap.ahead.flip(place)
        try:
            said = f"status {initiator.command(1, cdb.write(0, SECTORS), volume('new', SIZE)).status}"
        except ConnectionError:
            said = CAUGHT
        assert tap.ahead.flipped
        return said, stage.target.units[0].read_bytes()[:SIZE]


def read(stage: Stage, far: Tap, way: str, place: int, wishes: Wishes) -> tuple[str, bytes]:
    """Read; a bit flips where the target's data leaves it."""
    with logged_in(stage, way, wishes) as (initiator, _):
        assert initiator.command(1, cdb.write(0, SECTORS), volume("new", SIZE)).status == cdb.GOOD
        far.back.flip(place)
        try:
            found = bytes(initiator.command(1, cdb.read(0, SECTORS), expect=SIZE).received)
        except WrongDigest as wrong:
            return str(wrong), b""
        assert far.back.flipped
        return UNNOTICED, found


def flipped(content: bytes) -> bytes:
    return content[:INSIDE] + bytes([content[INSIDE] ^ 1]) + content[INSIDE + 1 :]


@pytest.mark.parametrize("place", PLACES)
def test_in_a_write_with_digests(stage: tuple[Stage, Tap], protocol: str, place: str) -> None:
    """The target ends the connection, and nothing of the write is there."""
    for way in (DIRECT, protocol):
        assert write(stage[0], way, PLACES[place], BOTH) == (CAUGHT, OLD)


@pytest.mark.parametrize("place", PLACES)
def test_in_a_read_with_digests(stage: tuple[Stage, Tap], protocol: str, place: str) -> None:
    """The initiator sees which digest is wrong."""
    for way in (DIRECT, protocol):
        assert read(*stage, way, PLACES[place], BOTH) == (f"wrong {place.replace(',', ' ').split()[0]} digest", b"")


def test_in_data_with_header_digests_only(stage: tuple[Stage, Tap], protocol: str) -> None:
    place = HEADER_BYTES + DIGEST_BYTES + INSIDE
    for way in (DIRECT, protocol):
        assert write(stage[0], way, place, HEADERS) == ("status 0", flipped(volume("new", SIZE)))
        assert read(*stage, way, place, HEADERS) == (UNNOTICED, flipped(volume("new", SIZE)))


def test_without_digests(stage: tuple[Stage, Tap], protocol: str) -> None:
    place = HEADER_BYTES + INSIDE
    for way in (DIRECT, protocol):
        assert write(stage[0], way, place, NONE) == ("status 0", flipped(volume("new", SIZE)))
        assert read(*stage, way, place, NONE) == (UNNOTICED, flipped(volume("new", SIZE)))


def test_a_wrong_digest_is_counted(stage: tuple[Stage, Tap]) -> None:
    """Where it arrived."""
    east, west = stage[0].east, stage[0].west
    before = [site.status()["bytes"]["digests_wrong"] for site in (east, west)]
    write(stage[0], "iscsi", PLACES["data"], BOTH)
    eventually(east, "bytes.digests_wrong", before[0] + 1)
    read(*stage, "iscsi", PLACES["data"], BOTH)
    eventually(west, "bytes.digests_wrong", before[1] + 1)


def test_afterwards_all_is_well(stage: tuple[Stage, Tap], protocol: str) -> None:
    """A wrong digest harms its own connection at most."""
    write(stage[0], protocol, PLACES["data"], BOTH)
    with Initiator(stage[0].ways[protocol], BOTH) as initiator:
        initiator.ready(1)
        assert initiator.command(1, cdb.write(0, SECTORS), volume("new", SIZE)).status == cdb.GOOD
        same(volume("new", SIZE), initiator.command(1, cdb.read(0, SECTORS), expect=SIZE).received)
