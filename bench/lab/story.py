"""`python -m bench.lab.story`: replicates the source array's volume to the destination array, and compares the two.

In each round it writes the volume to the source array, as hosts would, then replicates it through the pair, and
compares both arrays' files byte for byte. Before each further round a part of the volume changes. If a proxy dies
meanwhile, the initiator connects again, or the copy begins again. The exit code is 1 if one byte differs.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from random import Random

from bench.array import IQN, ArrayFailure, copy_volume, identical
from bench.datasets import Dataset
from bench.ending import program
from bench.processes import until
from bench.programs import size_of, whole
from bench.sites import Site, SiteFailure

SOURCE, FORWARD = "array-east:3260", "127.0.0.1:3260"
"""The source array, and where the pair begins."""
STATUS_PORT = 8900
"""Of the near site's status listener."""
PAUSE_SECONDS = 1.0
"""Between rounds."""
CHANGED_BYTES = 64 << 10
MB = 10**6
PATIENCE_SECONDS = 120.0
SILENT = OSError, SiteFailure
"""What asking a site raises that does not run, or is about to end."""


def main() -> None:
    """Run all rounds; see --help."""
    told = arguments()
    source, target = (f"iscsi://{where}/{IQN}/1" for where in (SOURCE, FORWARD))
    site = Site("east", Path(), STATUS_PORT)
    if not until(lambda: tunnel_is_up(site), PATIENCE_SECONDS, 0.5):
        sys.exit("the tunnel is not up; see the logs of both sites")
    written = Path("/tmp/volume")  # the volume as hosts have written it; only this container has it
    Dataset(told.seed, told.size, 38, 10).fill(written)
    number = 0
    while number < told.rounds or not told.rounds:
        number += 1
        if number > 1:
            change(written, Random(f"{told.seed}/{number}"))
            time.sleep(PAUSE_SECONDS)
        copied(str(written), source)
        if not replicated(number, source, target, site, told.volumes):
            sys.exit("THE VOLUMES DIFFER")
    print("all rounds: identical", flush=True)


def arguments() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab.story")
    parser.add_argument("--volumes", type=Path, nargs=2, required=True, help="files of both volumes")
    parser.add_argument("--size", type=size_of, default="64MiB", help="of the volume")
    parser.add_argument("--seed", default="story", help="another one makes another volume")
    parser.add_argument("--rounds", type=partial(whole, least=0), default=3, help="0: without end")
    return parser.parse_args()


def replicated(number: int, source: str, target: str, site: Site, volumes: list[Path]) -> bool:
    """Replicate once, and print what came of it; returns whether the volumes are identical."""
    before = wire_bytes(site)
    seconds = copied(source, target)
    same, size = identical(*volumes), volumes[0].stat().st_size
    crossed = max(0, wire_bytes(site) - before)
    print(
        f"round {number}: {size / MB:.0f} MB in {seconds:.1f} s, {crossed / MB:.2f} MB crossed the WAN,"
        f" {'identical' if same else 'DIFFERENT'}",
        flush=True,
    )
    return same


def copied(source: str, target: str) -> float:
    """Copy the whole volume; returns the seconds that it took. A copy that fails is begun again, as arrays do it, for
    `PATIENCE_SECONDS`; then the program exits."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return copy_volume(source, target)
        except ArrayFailure as error:
            if time.monotonic() > deadline:
                sys.exit(f"the volume cannot be copied: {error}")
            print(f"begins again: {error}", flush=True)
            time.sleep(1)


def change(volume: Path, draw: Random) -> None:
    """Give one in 32 pieces of the volume other bytes, at random places."""
    with volume.open("r+b") as file:
        pieces = volume.stat().st_size // CHANGED_BYTES
        for piece in draw.sample(range(pieces), max(1, pieces // 32)):
            file.seek(piece * CHANGED_BYTES)
            file.write(draw.randbytes(CHANGED_BYTES))


def tunnel_is_up(site: Site) -> bool:
    """Whether the near site says that all its tunnels are up; False if it does not answer."""
    try:
        return all(peer["state"] == "up" for peer in site.status()["peers"])
    except SILENT:
        return False


def wire_bytes(site: Site) -> int:
    """Bytes that the near site has sent over the WAN since it started; 0 if it does not answer."""
    try:
        sent: int = site.status()["bytes"]["wire"]
    except SILENT:
        return 0
    return sent


if __name__ == "__main__":
    program(main)
