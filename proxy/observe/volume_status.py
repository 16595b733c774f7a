"""Counts of volumes in the shape that the status has."""

from proxy.observe.advice import advise
from proxy.observe.histogram import Histogram
from proxy.observe.snapshot import CommandsStatus, HistogramStatus, VolumeStatus
from proxy.observe.volumes import Commands, Volume


def volume_status(volume: Volume) -> VolumeStatus:
    """One volume, now."""
    name, written = volume.name, volume.written
    return VolumeStatus(
        share=name.share,
        target=name.target,
        unit=name.unit,
        connections=volume.connections,
        outstanding=volume.outstanding,
        outstanding_peak=volume.outstanding_peak,
        dropped=volume.dropped,
        reads=_commands(volume.reads),
        writes=_commands(volume.writes),
        write_bytes_per_second=round(written.now),
        advice=advise(written.busiest, volume.writes.sizes.mean),
    )


def _commands(commands: Commands) -> CommandsStatus:
    return CommandsStatus(
        commands=commands.sizes.count,
        bytes=int(commands.sizes.total),
        failed=commands.failed,
        sequential=commands.sequential,
        random=commands.random,
        sizes=_histogram(commands.sizes),
        seconds=_histogram(commands.seconds),
    )


def _histogram(histogram: Histogram) -> HistogramStatus:
    return HistogramStatus(tuple(histogram.bounds), tuple(histogram.counts), histogram.total)
