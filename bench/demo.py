"""`isthmus demo`: two real sites on this machine, three generated volumes, cold and warm, every byte compared.

Where there is an iSCSI target (tgt) and qemu-img, a fourth volume goes from one to the other through the pair.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bench.array import ArrayFailure, IscsiTarget, copy_volume, identical
from bench.datasets import Dataset, field_volumes
from bench.ending import said, scratch
from bench.machine import lacking_disk, lacking_memory
from bench.replicator import Sink, replicate
from bench.sites import Address, Pair, SiteFailure
from bench.tables import plain_table
from proxy.cli.ending import ended_in_order
from proxy.config.units import show_size

MB = 10**6
MIB = 1 << 20
SMALLEST_STORE = 128 * MIB
PASSES = ("cold", "warm")
COMPRESSION = "[compression]\nlevel = 1\n"
"""A fixed level, as over a line of some 100 Mb/s to 1 Gb/s: without a line, the sites would soon stop compressing."""
ISCSI = "iSCSI"
"""Name of the volume that qemu-img writes to a target."""


@dataclass(frozen=True)
class Pass:
    """One replication of one volume. Bytes and counters are of this pass alone, as the near site counts them."""

    volume: str
    name: str
    """cold or warm."""
    raw: int
    """Bytes from the array."""
    after_deduplication: int
    after_compression: int
    wire: int
    """Bytes on the WAN: what the near site sent."""
    seconds: float
    verified: bool
    complaint: str = ""

    @property
    def rate(self) -> float:
        """Bytes from the array a second."""
        return self.raw / self.seconds if self.seconds else 0.0

    @property
    def saved_by_deduplication(self) -> float:
        """Percent of the array's bytes."""
        return saved(self.raw, self.after_deduplication)

    @property
    def saved_by_compression(self) -> float:
        """Percent of the array's bytes, as on the status page: little if deduplication has left little to compress."""
        return saved(self.raw, self.raw - self.after_deduplication + self.after_compression)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        derived = ("rate", "saved_by_deduplication", "saved_by_compression")
        return {**asdict(self), **{name: getattr(self, name) for name in derived}}


@dataclass
class Report:
    """What the demo shows in the end."""

    store: str
    volume_size: int
    passes: list[Pass] = field(default_factory=list)
    skipped: str = ""
    """Why no volume went over iSCSI, or nothing."""

    @property
    def identical(self) -> bool:
        """All that was sent arrived, byte for byte."""
        return bool(self.passes) and all(each.verified for each in self.passes)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        passes = [each.as_dict() for each in self.passes]
        return {**asdict(self), "passes": passes, "identical": self.identical}


def run(volume_size: int, store: str, as_json: bool) -> int:
    """Run the demo and print a table, or JSON alone, on stdout; 0 if every byte arrived, otherwise 1.

    `volume_size` is the bytes of each volume, `store` memory or disk.
    """
    console = Console(stderr=as_json)
    try:
        with ended_in_order(), scratch() as directory:
            report = perform(volume_size, store, directory, console)
    except (SiteFailure, ArrayFailure, OSError) as error:
        console.print(f"The demo failed: {said(error)}", style="bold red", markup=False, highlight=False)
        return 1
    if as_json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        show(report, console)
    return 0 if report.identical else 1


def perform(volume_size: int, store: str, directory: Path, console: Console) -> Report:
    """Run all passes; the directory is for the array's files. Raises SiteFailure, ArrayFailure, OSError."""
    store_size = max(SMALLEST_STORE, volume_size * 3 // 2)
    stores = 2 * store_size if store == "disk" else 0
    lacking = lacking_disk(stores) if stores else lacking_memory(2 * store_size)
    if lacking:
        raise SiteFailure(f"{lacking}; give a smaller --volume-size{'' if stores else ', or --store disk'}")
    report = Report(store, volume_size, skipped=lacking_for_iscsi(volume_size, directory, stores))
    with ExitStack() as stack:
        exports = {"sink": stack.enter_context(Sink()).address}
        array = None
        if not report.skipped:
            array = stack.enter_context(IscsiTarget(directory, [volume_size] * len(PASSES)))
            exports["array"] = array.address
        progress = stack.enter_context(bars(console))
        pair = Pair(exports, store=store, store_size=show_size(store_size), settings=COMPRESSION)
        stack.enter_context(pair)
        replicate_generated(report, pair, progress)
        if array:
            replicate_by_iscsi(report, pair, array, directory / "volume", progress)
    return report


def replicate_generated(report: Report, pair: Pair, progress: Progress) -> None:
    """The three volumes of the field test, to a sink that hashes."""
    for volume in field_volumes(report.volume_size):
        for name in PASSES:
            bar = progress.add_task(f"{volume.kind}, {name}", total=volume.size)
            advance = partial(progress.advance, bar)
            transfer = partial(send, volume, pair.forwards["sink"], advance)
            report.passes.append(measured(pair, volume.kind, name, transfer))


def replicate_by_iscsi(report: Report, pair: Pair, array: IscsiTarget, source: Path, progress: Progress) -> None:
    """A volume in a file, by qemu-img through the pair to one unit of the target, then to the other."""
    Dataset("iscsi", report.volume_size, 38, 10).fill(source)
    for unit, name in enumerate(PASSES, 1):
        bar = progress.add_task(f"qemu-img to {ISCSI}, {name}", total=report.volume_size)
        url = array.url(unit, pair.forwards["array"])
        transfer = partial(write_unit, source, url, array.units[unit - 1], progress, bar)
        report.passes.append(measured(pair, ISCSI, name, transfer))


def send(volume: Dataset, address: Address, advance: Callable[[int], None]) -> tuple[float, str]:
    """Send a volume; the seconds that it took, and what is wrong or nothing."""
    done = replicate(volume, address, advance)
    return done.seconds, done.complaint


def write_unit(source: Path, url: str, unit: Path, progress: Progress, bar: TaskID) -> tuple[float, str]:
    """Have qemu-img write the file to a unit; the seconds that it took, and what is wrong or nothing."""
    size = source.stat().st_size
    seconds = copy_volume(source, url, lambda percent: progress.update(bar, completed=size * percent / 100))
    return seconds, "" if identical(source, unit) else "the target's unit differs from the volume"


def measured(pair: Pair, volume: str, name: str, transfer: Callable[[], tuple[float, str]]) -> Pass:
    """Do the transfer; the pass has what the near site counted meanwhile."""
    before = pair.east.status()["bytes"]
    seconds, complaint = transfer()
    after = pair.east.status()["bytes"]
    keys = ("raw", "after_deduplication", "after_compression", "wire")
    counted = {key: after[key] - before[key] for key in keys}
    return Pass(volume, name, seconds=seconds, verified=not complaint, complaint=complaint, **counted)


def lacking_for_iscsi(volume_size: int, directory: Path, stores: int = 0) -> str:
    """Why no volume goes over iSCSI, or nothing. `stores`: bytes that lie on the same disk as well."""
    lacking = IscsiTarget.lacking()
    if lacking:
        return lacking
    if volume_size % 512:
        return "an iSCSI unit has a multiple of 512 bytes"
    if reason := IscsiTarget.too_long(directory):
        return reason
    return lacking_disk(4 * volume_size + stores)


def show(report: Report, console: Console) -> None:
    """The table and, below it, what went wrong or was left out."""
    title = f"{report.volume_size / MIB:,.0f} MiB a volume, {report.store} store, TLS 1.3, zstd 1"
    figures = ("array, MB", "WAN, MB", "dedup.", "compr.", "elapsed", "MB/s")
    table = plain_table(title, "volume", "pass", *figures, "verified", figures=figures)
    for each in report.passes:
        table.add_row(*cells(each))
    console.print(table, "")
    console.print("dedup., compr.: what deduplication and compression take off, of the array's bytes")
    for each in report.passes:
        if each.complaint:
            console.print(f"{each.volume}, {each.name}: {each.complaint}", style="bold red", markup=False)
    if report.skipped:
        console.print(f"No volume went over iSCSI: {report.skipped}.", markup=False)
    if report.identical:
        console.print("Every byte that arrived was compared with what was sent: all identical.")


def cells(each: Pass) -> list[str]:
    """A row of the table."""
    return [
        each.volume,
        each.name,
        f"{each.raw / MB:,.1f}",
        f"{each.wire / MB:,.1f}",
        percent(each.saved_by_deduplication),
        percent(each.saved_by_compression),
        f"{each.seconds:.2f} s",
        f"{each.rate / MB:,.0f}",
        "yes" if each.verified else "NO",
    ]


def percent(value: float) -> str:
    """One place after the point, and no minus before a zero."""
    return f"{round(value, 1) + 0.0:.1f} %"


def saved(before: int, after: int) -> float:
    """Percent saved; negative if it grew."""
    return 100 * (1 - after / before) if before else 0.0


def bars(console: Console) -> Progress:
    """Progress bars with amounts, time taken and time left."""
    return Progress(
        TextColumn("{task.description:<23}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
