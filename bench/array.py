"""A real array for demo and tests: an iSCSI target (tgt) with file-backed units, and qemu-img as its initiator.

Needs root, `tgtd`, `tgtadm` and `qemu-img` with its iSCSI module; `IscsiTarget.lacking()` says what is not there.
"""

import itertools
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

from bench.ending import bound
from bench.processes import until
from bench.sites import Address, free_port

IQN = "iqn.2024-01.org.example:isthmus"
PARAMETERS = {"MaxRecvDataSegmentLength": 262144}
"""tgt's default of 8192 puts a changing header into every 8 KiB of data, so that hardly a chunk repeats; arrays offer
more."""
PATIENCE_SECONDS = 60.0
COMPARE_BYTES = 4 << 20


class ArrayFailure(Exception):
    """The target or the initiator failed; the message has the tool's own words."""


class IscsiTarget:
    """One tgtd with one target; unit n (from 1) is the file `units[n - 1]`. A context manager.

    It has a control socket of its own, so that it disturbs no other tgtd. tgtd ignores SIGTERM while it has targets:
    they are deleted first, and it is told to end.
    """

    LONGEST = 107 - len("/tgtd.0")
    """Bytes of its directory's path at most: a Unix socket's path has 107 (unix(7)), and tgtd adds a number to it."""

    @classmethod
    def too_long(cls, directory: Path) -> str:
        """That its path is too long, or nothing."""
        fits = len(os.fsencode(directory)) <= cls.LONGEST
        return "" if fits else f"{directory} is too long a path for tgtd's socket (see TMPDIR)"

    def __init__(
        self,
        directory: Path,
        sizes: Sequence[int],
        *,
        parameters: Mapping[str, int | str] | None = None,
        account: tuple[str, str] | None = None,
        listen: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """`directory` gets the units (empty, of these sizes) and the log; its path must be short (a Unix socket).

        `parameters`: keys of RFC 7143, section 13, that the target is to have beside `PARAMETERS`; `account`: name and
        secret that initiators have to prove by CHAP; `listen`: the address to listen on, which has to be another than
        loopback if other network namespaces are to reach it; `port`: 0 for any free one. The target is in the network
        namespace in which it is entered.
        """
        self.address: Address = ("127.0.0.1", port or free_port())
        self.units = [directory / f"unit{number}" for number in range(1, len(sizes) + 1)]
        self.log = directory / "tgtd.log"
        self._sizes = list(sizes)
        self._parameters = {**PARAMETERS, **(parameters or {})}
        self._account = account
        self._listen = listen
        self._socket = directory / "tgtd"
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def lacking() -> str:
        """Why there can be no target here, or nothing."""
        if os.geteuid() != 0:
            return "tgtd needs root"
        missing = [tool for tool in ("tgtd", "tgtadm", "qemu-img") if not shutil.which(tool)]
        if missing:
            return f"not installed: {', '.join(missing)}"
        return "" if _speaks_iscsi() else "qemu-img has no iSCSI (Debian: package qemu-block-extra)"

    def url(self, unit: int, address: Address | None = None) -> str:
        """The URL by which an initiator finds the unit: at the target itself, or by way of `address`."""
        host, port = address or self.address
        return f"iscsi://{host}:{port}/{IQN}/{unit}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start(self) -> None:
        if reason := self.too_long(self._socket.parent):
            raise ArrayFailure(reason)
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                bound(["tgtd", "-f", "--iscsi", f"portal={self._listen}:{self.address[1]}"]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,
            )
        process = self._process
        answers = until(lambda: self._answers() or process.poll() is not None, PATIENCE_SECONDS, 0.05)
        if not answers or process.poll() is not None:
            raise ArrayFailure(f"tgtd does not answer; its log:\n{self.log.read_text(errors='replace')}")
        self._admin("new", "target", "-T", IQN)
        for name, value in self._parameters.items():
            self._admin("update", "target", "-n", name, "-v", str(value))
        for number, (unit, size) in enumerate(zip(self.units, self._sizes, strict=True), 1):
            with unit.open("wb") as file:
                file.truncate(size)
            self._admin("new", "logicalunit", "--lun", str(number), "-b", str(unit))
        if self._account:
            name, secret = self._account
            self._admin("new", "account", "--user", name, "--password", secret, of=())
            self._admin("bind", "account", "--user", name)
        self._admin("bind", "target", "-I", "ALL")

    def _answers(self) -> bool:
        return not self._tgtadm("--lld", "iscsi", "--op", "show", "--mode", "target").returncode

    def _admin(self, operation: str, mode: str, *more: str, of: Sequence[str] = ("--tid", "1")) -> None:
        done = self._tgtadm("--lld", "iscsi", "--op", operation, "--mode", mode, *of, *more)
        if done.returncode:
            raise ArrayFailure(f"tgtadm cannot {operation} {mode}: {done.stderr.strip()}")

    def _tgtadm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["tgtadm", *arguments]
        try:
            return subprocess.run(
                command,
                env=self._environment(),
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 1, "", f"no answer within {PATIENCE_SECONDS:.0f} s")

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "TGT_IPC_SOCKET": str(self._socket)}

    def _end(self) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._tgtadm("--lld", "iscsi", "--op", "delete", "--force", "--mode", "target", "--tid", "1")
            if self._tgtadm("--op", "delete", "--mode", "system").returncode:
                self._process.kill()  # it does not answer (perhaps it is still starting), so it would not end
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for left in self._socket.parent.glob(f"{self._socket.name}.*"):
            if left != self.log:
                left.unlink()


def _speaks_iscsi() -> bool:
    """Whether qemu-img has its iSCSI driver: in Debian a module in a package of its own, elsewhere built in."""
    if glob("/usr/lib/*/qemu/block-iscsi.so") or glob("/usr/lib*/qemu*/block-iscsi.so"):
        return True
    formats = subprocess.run(["qemu-img", "--help"], capture_output=True, text=True, check=False).stdout
    return re.search(r"\biscsi\b", formats) is not None


def copy_volume(source: Path | str, url: str, progress: Callable[[float], None] = lambda percent: None) -> float:
    """Write a raw file, or the unit at an iscsi:// address, to an iSCSI unit with 16 writes in flight.

    Returns the seconds that it took. Raises ArrayFailure.
    """
    command = ["qemu-img", "convert", "-p", "-n", "-W", "-m", "16", "-f", "raw", "-O", "raw", str(source), url]
    started = time.monotonic()
    with (
        TemporaryFile() as complaints,  # a second pipe would have to be read at the same time as the first
        subprocess.Popen(
            bound(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,
        ) as initiator,
    ):
        try:
            assert initiator.stdout is not None
            for percent in _percents(initiator.stdout.fileno()):
                progress(percent)
            code = initiator.wait()
        except BaseException:
            initiator.kill()
            raise
        if code:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip()
            raise ArrayFailure(f"qemu-img ended with status {code}: {said}")
    return time.monotonic() - started


def _percents(descriptor: int) -> Iterator[float]:
    """What `qemu-img -p` prints, such as `    (12.50/100%)`, as numbers."""
    reads = iter(lambda: os.read(descriptor, 4096), b"")
    return itertools.chain.from_iterable(map(float, re.findall(rb"\((\d+\.\d+)/", read)) for read in reads)


def identical(one: Path, other: Path) -> bool:
    """Compare two files byte for byte."""
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        return all(a.read(COMPARE_BYTES) == b.read(COMPARE_BYTES) for _ in range(0, one.stat().st_size, COMPARE_BYTES))
