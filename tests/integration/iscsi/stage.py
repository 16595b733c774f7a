"""A target, a pair of sites, and the ways to the target: directly, and through a forward of each protocol.

with staged(directory, parameters={"HeaderDigest": "CRC32C,None"}) as stage:
    direct, through = (transcript(stage.ways[way]) for way in ("direct", "tcp"))
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.array import IQN, IscsiTarget
from bench.initiator.initiator import Initiator
from bench.initiator.login import Wishes
from bench.sites import Address, Site
from tests.integration.bed.sites import Bed, Forward, drain, run

PROTOCOLS = ("tcp", "iscsi")
"""Of forwards that lead to targets."""
DIRECT = "direct"
ANY_DIGEST = {"HeaderDigest": "CRC32C,None", "DataDigest": "CRC32C,None", "InitialR2T": "No"}
"""A target that lets the initiator choose; without these tgt agrees to no digest at all."""


@dataclass(frozen=True)
class Stage:
    """What is there while it stands."""

    target: IscsiTarget
    east: Site
    west: Site
    ways: dict[str, Address]
    """By name: `DIRECT`, and the protocols."""

    def initiator(self, way: str, **wishes: object) -> Initiator:
        """Ours, on that way, not logged in yet; arguments as of `Wishes`."""
        return Initiator(self.ways[way], Wishes(**{"target": IQN, **wishes}))  # type: ignore[arg-type]


@contextmanager
def staged(
    directory: Path,
    *,
    size: int = 64 << 20,
    parameters: Mapping[str, str] | None = None,
    account: tuple[str, str] | None = None,
) -> Iterator[Stage]:
    """A target with one unit of so many bytes; its keys as of `IscsiTarget`. Skips the test where there is none."""
    skip_without_tools()
    with (
        IscsiTarget(directory, [size], parameters=parameters, account=account) as target,
        forwarded(directory, target.address) as (east, west, ways),
    ):
        yield Stage(target, east, west, {DIRECT: target.address, **ways})


@contextmanager
def forwarded(
    directory: Path, far: Address, *, door: Address | None = None, dialled: Address | None = None
) -> Iterator[tuple[Site, Site, dict[str, Address]]]:
    """East, west, and where forwards to the far address listen, by protocol.

    `door`: where west listens; `dialled`: what east dials instead, such as a `Wire`.
    """
    bed = Bed(directory)
    try:
        ways = {protocol: Forward(f"array-{protocol}", "west", protocol=protocol) for protocol in PROTOCOLS}
        east, west = bed.joined(
            list(ways.values()),
            {way.name: far for way in ways.values()},
            tunnel={"reconnect_max": "200ms"},
            store={"size": "128MiB"},
            tunnel_address=door,
            dialled=dialled,
        )
        run(east, west)
        yield east, west, {protocol: way.address for protocol, way in ways.items()}
        drain(east, west)
        assert not bed.complaints()
    finally:
        bed.close()


def skip_without_tools(*tools: str) -> None:
    """Where there is no target, or one of these tools is not installed, the reason is given."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    if lacking := IscsiTarget.lacking() or (f"not installed: {', '.join(missing)}" if missing else ""):
        pytest.skip(lacking)
