"""What plain TCP does on a line: one connection of iperf3 from east to west, with a congestion control of choice."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.ending import bound
from bench.wan import Wan, WanFailure

PORT = 5201
PATIENCE_SECONDS = 60.0
"""Beyond the time that it is asked to send."""
CONTROLS = ("bbr", "cubic")


def lacking() -> str:
    """Why iperf3 cannot be used here, or nothing."""
    return "" if shutil.which("iperf3") else "iperf3 is not installed (Debian: apt install iperf3)"


def offered() -> list[str]:
    """Those of `CONTROLS` that this kernel has."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return [control for control in CONTROLS if control in known]


def rate(wan: Wan, control: str, seconds: int, settle: int) -> float:
    """Bits of payload a second that arrived in so many seconds, after `settle` more. Raises WanFailure."""
    with _sending(wan, control, seconds, settle) as (sender, receiver):
        told, complaint = sender.communicate(timeout=seconds + settle + PATIENCE_SECONDS)
        if sender.returncode:
            raise WanFailure(f"iperf3 failed: {_complaint(told) or complaint.strip()}")
        report, complaint = receiver.communicate(timeout=PATIENCE_SECONDS)
    try:
        return received(json.loads(report))
    except ValueError:
        raise WanFailure(
            f"iperf3 has made no report: {complaint.strip() or report.strip() or 'it said nothing'}"
        ) from None


@contextmanager
def bulk(wan: Wan, control: str, seconds: int) -> Iterator[None]:
    """One connection fills the line meanwhile, for so many seconds at most.

    Raises WanFailure if it has ended by then: what was measured beside it is of an empty line.
    """
    with _sending(wan, control, seconds, 0) as (sender, _):
        yield
        if sender.poll() is not None:
            told, complaint = sender.communicate()
            reason = _complaint(told) or complaint.strip() or f"after {seconds} s"
            raise WanFailure(f"iperf3 ended before what was measured beside it: {reason}")


def received(report: dict[str, Any]) -> float:
    """Bits a second, from the receiver's report, without what was omitted. Raises WanFailure if there is nothing."""
    sums = [interval["sum"] for interval in report.get("intervals", [])]
    counted = [each for each in sums if not each.get("omitted")]
    seconds = float(sum(each["seconds"] for each in counted))
    if not seconds:
        raise WanFailure(f"iperf3 has measured nothing: {report.get('error', 'its report has no intervals')}")
    taken = int(sum(each["bytes"] for each in counted))
    return taken * 8 / seconds


@contextmanager
def _sending(
    wan: Wan, control: str, seconds: int, settle: int
) -> Iterator[tuple["subprocess.Popen[str]", "subprocess.Popen[str]"]]:
    """Sender and receiver; both have ended afterwards."""
    at = ["-p", str(PORT), "-J"]
    receiver = _start([*wan.command("west"), "iperf3", "-s", "-1", *at])
    try:
        _wait_listening(wan)
        to = ["-c", wan.addresses["west"], "-C", control, "-t", str(seconds), "-O", str(settle)]
        sender = _start([*wan.command("east"), "iperf3", *to, *at])
        try:
            yield sender, receiver
        finally:
            _end(sender)
    finally:
        _end(receiver)


def _start(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        bound(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _wait_listening(wan: Wan) -> None:
    """Without a connection, which the receiver would take for its only one."""
    listening = [*wan.command("west"), "sh", "-c", f"until ss -Hltn sport = :{PORT} | grep -q .; do sleep 0.05; done"]
    try:
        subprocess.run(bound(listening), timeout=PATIENCE_SECONDS, check=True, capture_output=True)
    except (subprocess.SubprocessError, OSError) as error:
        raise WanFailure(f"iperf3 does not listen: {error}") from None


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def _complaint(report: str) -> str:
    try:
        return str(json.loads(report).get("error", ""))
    except ValueError:
        return ""
