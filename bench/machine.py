"""What figures depend on besides the code: this machine, and what else it does meanwhile."""

import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from proxy import __version__

BUSY = 0.5
"""Load at the start above which a warning is given."""


def warn_if_busy() -> None:
    """Say on stderr that figures will be too low, if something else runs already."""
    if os.getloadavg()[0] > BUSY:
        print("something else keeps this machine busy: rates will be too low", file=sys.stderr)


def machine_facts() -> dict[str, Any]:
    """What the figures depend on."""
    models = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "isthmus": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def machine_text(facts: dict[str, Any]) -> str:
    """The facts in a line."""
    return (
        f"Isthmus {facts['isthmus']}, Python {facts['python']}, {facts['processor']}, {facts['cores']} cores,"
        f" load before {facts['load_before']:.1f}"
    )


class Cores:
    """How much of all cores was used since this was made."""

    def __init__(self) -> None:
        self._before = _ticks()

    def used(self) -> float:
        """Share, 0 to 1; what a hypervisor took away counts as used."""
        total, idle = (now - before for now, before in zip(_ticks(), self._before, strict=True))
        return 1 - idle / total if total else 0.0


def _ticks() -> tuple[int, int]:
    """All, and idle ones (waiting for disks included), of all cores since boot."""
    user, nice, system, idle, waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return user + nice + system + idle + waiting + sum(rest), idle + waiting
