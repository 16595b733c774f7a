"""A real target behind a pair, and ways to write volumes to it.

All volumes are written to the same unit. It is emptied before each, so what it then holds is what this pass has
written.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.array import IQN, ArrayFailure, IscsiTarget, identical
from bench.initiator import cdb
from bench.initiator.initiator import Initiator, Write
from bench.initiator.login import Wishes
from bench.processes import PATIENCE_SECONDS, output_of
from bench.sites import Address, Pair
from proxy.config.units import show_size

KIB, MIB = 1 << 10, 1 << 20
ANY_DIGEST = {"HeaderDigest": "CRC32C,None", "DataDigest": "CRC32C,None"}
PROTOCOLS = ("tcp", "iscsi")


@dataclass(frozen=True)
class Cost:
    """What it cost to write a volume."""

    share: float
    """What both sites sent on the wire, in percent of the volume's bytes."""
    header: float | None
    """Bytes of headers on the wire for each PDU, both directions; None where no PDU was understood."""
    identical: bool

    @staticmethod
    def values(tcp: "Cost", iscsi: "Cost") -> dict[str, float | None]:
        """Columns of a table."""
        return {"tcp": tcp.share, "iscsi": iscsi.share, "B/PDU": iscsi.header}


class Stage:
    """A pair with a forward of one protocol, and a target behind it."""

    def __init__(self, pair: Pair, target: IscsiTarget) -> None:
        self._pair = pair
        self._target = target

    def cost(self, image: Path, write: "Writer") -> Cost:
        """Write the image to the emptied unit; its cost. Raises ArrayFailure, OSError, bench.initiator's errors."""
        unit, size = self._target.units[0], image.stat().st_size
        for length in (0, size):
            os.truncate(unit, length)
        before = self._counts()
        write(image, self._pair.forwards["array"])
        grown = {name: count - before[name] for name, count in self._counts().items()}
        header = grown["records_compressed"] * 2 / grown["pdus"] if grown["pdus"] else None
        return Cost(100 * grown["wire"] / size, header, identical(image, unit))

    def _counts(self) -> dict[str, int]:
        """Counts of both sites together. Each PDU is counted by both."""
        sites = [site.status()["bytes"] for site in self._pair.sites]
        return {name: sum(site[name] for site in sites) for name in ("wire", "pdus", "records_compressed")}


@contextmanager
def standing(directory: Path, protocol: str, size: int) -> Iterator[Stage]:
    """A target and a pair for images of `size` bytes, with room for three of them in the stores. The target's files are
    in a directory of their own in that one, for as long as it stands."""
    settings = {"array": f'protocol = "{protocol}"\n'}
    with (
        TemporaryDirectory(dir=directory) as own,
        IscsiTarget(Path(own), [size], parameters=ANY_DIGEST) as target,
        Pair({"array": target.address}, store_size=show_size(3 * size + 64 * MIB), forward_settings=settings) as pair,
    ):
        pair.wait_prepared()
        yield Stage(pair, target)


# -- who writes ---------------------------------------------------------------------------------------------------

Writer = Callable[[Path, Address], None]
"""Writes an image to the unit behind an address."""


def by_qemu(coroutines: int, command: int, digest: str = "none") -> Writer:
    """Written by qemu-img, with commands of `command` bytes at most. The order of several at once is left to chance."""
    return partial(_by_qemu, coroutines, command, digest)


def _by_qemu(coroutines: int, command: int, digest: str, image: Path, address: Address) -> None:
    where = {"portal": f"{address[0]}:{address[1]}", "target": IQN, "lun": 1, "header-digest": digest}
    unit = "".join(f",image.{key}={value}" for key, value in {"driver": "iscsi", "transport": "tcp", **where}.items())
    options = ["convert", "-n", "-W", "-m", str(coroutines), "-S", "0", "-f", "raw", "--target-image-opts"]
    to = f"driver=blkdebug,max-transfer={command}{unit}"
    output_of(["qemu-img", *options, str(image), to], ArrayFailure)


def by_ours(
    command: int, *, shuffled: bool = False, pdu: int = 256 * KIB, digests: bool = False, immediate: bool = True
) -> Writer:
    """Written by our own initiator, eight commands at once. `shuffled`: in a random order, which is always the same."""
    name = "CRC32C" if digests else "None"
    wishes = Wishes(IQN, send=pdu, header_digest=name, data_digest=name, immediate=immediate)
    return partial(_by_ours, command, shuffled, wishes)


def _by_ours(command: int, shuffled: bool, wishes: Wishes, image: Path, address: Address) -> None:
    content = memoryview(image.read_bytes())
    places = list(range(0, len(content), command))
    if shuffled:
        random.Random(command).shuffle(places)
    with Initiator(address, wishes, PATIENCE_SECONDS) as initiator:
        if initiator.agreed.digests != (wishes.header_digest == "CRC32C", wishes.data_digest == "CRC32C"):
            raise ArrayFailure("the target did not agree to the digests")
        initiator.ready(1)
        initiator.write_all(1, (Write(at // cdb.SECTOR, content[at : at + command]) for at in places), 8)
        initiator.logout()
