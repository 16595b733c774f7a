"""What plain TCP does on a line: one connection of iperf3 from east to west, with a chosen congestion control."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any

from bench.ending import bound
from bench.machine import congestion_controls
from bench.processes import Process, until
from bench.wan import Wan, WanFailure

PORT = 5201
PATIENCE_SECONDS = 60.0
"""Seconds that iperf3 may take beyond the time for which it is asked to send."""
CONTROLS = ("bbr", "cubic")


def lacking() -> str:
    """Why iperf3 cannot be used here, or nothing."""
    return "" if shutil.which("iperf3") else "iperf3 is not installed (Debian: apt install iperf3)"


def offered() -> list[str]:
    """Those of `CONTROLS` that this kernel has."""
    return [control for control in CONTROLS if control in congestion_controls()]


def rate(wan: Wan, control: str, seconds: int, settle: int) -> float:
    """Bits of payload a second that arrived in so many seconds, after `settle` more. Raises WanFailure."""
    with _sending(wan, control, seconds, settle) as (sender, receiver):
        if sender.wait(seconds + settle + PATIENCE_SECONDS):
            raise WanFailure(f"iperf3 failed: {sender.complaint}")
        receiver.wait(PATIENCE_SECONDS)
        try:
            report = json.loads(receiver.report)
        except ValueError:
            raise WanFailure(f"iperf3 has made no report: {receiver.complaint or 'it said nothing'}") from None
    return received(report)


@contextmanager
def bulk(wan: Wan, control: str, seconds: int) -> Iterator[None]:
    """Within the context one connection fills the line, for so many seconds at most.

    Raises WanFailure if it has ended before the context: then what was measured beside it was on an empty line.
    """
    with _sending(wan, control, seconds, 0) as (sender, _):
        yield
        if sender.has_ended:
            reason = sender.complaint or f"after {seconds} s"
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


class _Iperf:
    """One end of iperf3. Its report goes to a file: it has a kilobyte for each second, so a pipe that is not read yet
    would be full, and iperf3 would wait."""

    def __init__(self, process: Process, output: IO[str]) -> None:
        self._process, self._output = process, output

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self, seconds: float) -> int:
        """Its exit status. Raises WanFailure if it does not end in that time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise WanFailure(f"iperf3 did not end within {seconds:.0f} s") from None

    @property
    def report(self) -> str:
        """What it has printed."""
        self._output.seek(0)
        return self._output.read()

    @property
    def complaint(self) -> str:
        """After its end: the error in its report, otherwise what it wrote to stderr, or nothing."""
        assert self._process.stderr is not None
        said = self._process.stderr.read().strip()
        try:
            return str(json.loads(self.report).get("error", "")) or said
        except ValueError:
            return said or self.report.strip()


@contextmanager
def _sending(wan: Wan, control: str, seconds: int, settle: int) -> Iterator[tuple[_Iperf, _Iperf]]:
    """A sender and its receiver; both have ended after the context."""
    at = ["-p", str(PORT), "-J"]
    with _started([*wan.command("west"), "iperf3", "-s", "-1", *at]) as receiver:
        if not until(lambda: wan.listens("west", PORT), PATIENCE_SECONDS, 0.05):
            raise WanFailure("iperf3 does not listen")
        to = ["-c", wan.addresses["west"], "-C", control, "-t", str(seconds), "-O", str(settle)]
        with _started([*wan.command("east"), "iperf3", *to, *at]) as sender:
            yield sender, receiver


@contextmanager
def _started(command: list[str]) -> Iterator[_Iperf]:
    with (
        TemporaryFile("w+") as output,
        subprocess.Popen(
            bound(command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            yield _Iperf(process, output)
        finally:
            process.kill()
