"""What a result says of the machine: facts, memory, and the versions of what took part."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from bench.machine import machine_facts

TOOLS = {
    "iperf3": ["iperf3", "--version"],
    "tgtd": ["tgtd", "--version"],
    "qemu-img": ["qemu-img", "--version"],
    "fio": ["fio", "--version"],
    "ssh": ["ssh", "-V"],
    "stunnel": ["stunnel", "-version"],
}
"""How each says its version, first line, on either stream."""
CONGESTION = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def facts() -> dict[str, Any]:
    """For JSON: as of now."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    congestion = CONGESTION.read_text().strip() if CONGESTION.exists() else "unknown"
    return {**machine_facts(), "memory": memory, "congestion_control": congestion, "tools": versions()}


@cache
def versions() -> dict[str, str]:
    """Of the tools that are installed."""
    return {name: _version(command) for name, command in TOOLS.items() if shutil.which(command[0])}


def _version(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    found = re.search(r"\d+(?:\.\d+)+\w*", done.stdout + done.stderr)
    return found.group() if found else "unknown"
