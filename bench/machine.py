"""What figures depend on besides the code: this machine, and what else it does meanwhile."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from proxy import __version__
from proxy.doctor.host import memory

BUSY = 0.5
"""Load average at the start above which there is a warning."""
KERNEL = Path("/proc/sys/net/ipv4")
"""The kernel's settings of TCP, those of the network namespace that this thread is in."""
TOOLS = {
    "iperf3": ["iperf3", "--version"],
    "tgtd": ["tgtd", "--version"],
    "qemu-img": ["qemu-img", "--version"],
    "fio": ["fio", "--version"],
    "ssh": ["ssh", "-V"],
    "stunnel": ["stunnel", "-version"],
}
"""The command by which each tool says its version, on either stream."""


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


def all_facts() -> dict[str, Any]:
    """What `machine_facts` gives, memory, congestion control, and the versions of the tools that may take part."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    chosen = KERNEL / "tcp_congestion_control"
    congestion = chosen.read_text().strip() if chosen.exists() else "unknown"
    return {**machine_facts(), "memory": memory, "congestion_control": congestion, "tools": versions()}


def lacking_disk(wanted: int) -> str:
    """Why there is no room for so many bytes of temporary files, or nothing."""
    directory = tempfile.gettempdir()
    free = shutil.disk_usage(directory).free
    return "" if free >= wanted else f"{directory} has {_mib(free)} free, {_mib(wanted)} are needed (see TMPDIR)"


def lacking_memory(wanted: int) -> str:
    """Why there is not so much memory, in bytes, or nothing."""
    free = memory().available
    if free is None or free >= wanted:
        return ""
    return f"{_mib(free)} of memory are free, {_mib(wanted)} are needed"


def _mib(amount: int) -> str:
    return f"{amount >> 20:,} MiB"


def congestion_controls() -> list[str]:
    """The congestion controls that this kernel offers."""
    return (KERNEL / "tcp_available_congestion_control").read_text().split()


@cache
def versions() -> dict[str, str]:
    """The versions of the tools that are installed."""
    return {name: _version(command) for name, command in TOOLS.items() if shutil.which(command[0])}


def _version(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    found = re.search(r"\d+(?:\.\d+)+\w*", done.stdout + done.stderr)
    return found.group() if found else "unknown"


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
    """Clock ticks of all cores since boot: all, and idle ones (waiting for disks included)."""
    user, nice, system, idle, waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return user + nice + system + idle + waiting + sum(rest), idle + waiting
