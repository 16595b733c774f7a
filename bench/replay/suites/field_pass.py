"""The cells of a pass of the field test, and the figures of each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.datasets import Dataset
from bench.lines import Setting
from bench.replay.flow import Flow
from bench.replay.suites import field_published as published
from bench.replay.suites.field_report import COLD_GOAL, PASSES, WARM_GOAL
from bench.replay.trial import Figure, Outcome

SETTING = Setting("45Mbit", 100, 1.0)
GIB, MIB = 1 << 30, 1 << 20


@dataclass(frozen=True)
class Case:
    """Volumes that are sent at once."""

    place: str
    """What its cells' names begin with: singly/f5vol2/disk, together/disk."""
    volumes: tuple[str, ...]
    store: str

    @property
    def together(self) -> bool:
        """Whether there are several volumes: then names of cells have the volume, and there is a total."""
        return len(self.volumes) > 1

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of its cells, pass after pass."""
        if not self.together:
            return tuple(f"{self.place}/{number}" for number in PASSES)
        return tuple(f"{self.place}/{what}/{number}" for number in PASSES for what in (*self.volumes, published.TOTAL))


@dataclass(frozen=True)
class Pass:
    """One pass of a case, and what came of it."""

    case: Case
    number: int
    volumes: Sequence[Dataset]
    best: Sequence[int]
    """Bytes that the best known compression leaves of each."""
    flow: Flow
    """What was sent; to its end, so nothing was given up."""
    remark: str = ""
    """A remark on all its figures."""
    whole: bool = True
    """Whether the volumes have their real sizes, which alone have goals."""

    def outcomes(self) -> Iterator[tuple[str, Outcome]]:
        """A cell for each volume and, if there are several, one for their sum. If one volume failed no cell has
        figures, since all share the line.
        """
        if complaint := self._complaint():
            names = (*self.case.volumes, published.TOTAL) if self.case.together else ("",)
            yield from ((self._cell(name), Outcome((), self.flow.samples, complaint=complaint)) for name in names)
            return
        alone = [8 * each / SETTING.goodput for each in self.best]
        transfers = [transfer for transfer in self.flow.transfers if transfer]
        for contents, transfer, limit in zip(self.volumes, transfers, shared(alone), strict=True):
            figures = self._figures(contents.kind, contents.size / MIB, transfer.seconds, limit)
            if not self.case.together:
                yield self._cell(), self._with_line(figures)
                return
            yield self._cell(contents.kind), Outcome(figures)
        size = sum(each.size for each in self.volumes) / GIB * 1000  # as published: 6.66 GB are 6,660 MB here
        figures = self._figures(published.TOTAL, size, max(each.seconds for each in transfers), sum(alone))
        yield self._cell(published.TOTAL), self._with_line(figures)

    def _cell(self, name: str = "") -> str:
        return "/".join(filter(None, [self.case.place, name, str(self.number)]))

    def _complaint(self) -> str:
        """What is wrong with the bytes that arrived, of which volume; or nothing."""
        pairs = zip(self.volumes, self.flow.transfers, strict=True)
        return next((f"{volume.kind}: {each.complaint}" for volume, each in pairs if each and each.complaint), "")

    def _figures(self, name: str, size: float, seconds: float, limit: float) -> tuple[Figure, ...]:
        """Throughput in MB/min, as published, and seconds. `size`: in MB; `limit`: in seconds, for the first pass."""
        how = "together" if self.case.together else "singly"
        told = published.throughput(how, name, self.case.store, self.number)
        goal = told * _times_published(name, self.number) if told and self.whole else None
        first = limit if self.number == 1 else None
        possible = 60 * size / first if first else None
        return (
            Figure("throughput", 60 * size / seconds, "MB/min", True, told, possible, goal, self.remark),
            Figure("elapsed", seconds, "s", False, limit=first, remark=self.remark),
        )

    def _with_line(self, figures: tuple[Figure, ...]) -> Outcome:
        """An outcome of these figures, what crossed the line, and how full it was over the time to the last receipt."""
        samples = self.flow.line.samples
        crossed = samples[-1].so_far - samples[0].so_far
        size = sum(each.size for each in self.volumes)
        seconds = max(transfer.seconds for transfer in self.flow.transfers if transfer)
        of_line = (
            Figure("on the line", 100 * crossed / size, "%", False, remark=self.remark),
            Figure("line in use", 100 * 8 * crossed / seconds / SETTING.bits, "%", remark=self.remark),
        )
        return Outcome((*figures, *of_line), self.flow.samples)


def shared(alone: Sequence[float]) -> list[float]:
    """When each volume is done if all begin at once, and share the line evenly for as long as they run.

    `alone`: the time that each takes by itself.
    """
    order = sorted(range(len(alone)), key=lambda index: alone[index])
    found, now, before = [0.0] * len(alone), 0.0, 0.0
    for place, index in enumerate(order):
        now += (alone[index] - before) * (len(alone) - place)
        before = alone[index]
        found[index] = now
    return found


def _times_published(name: str, number: int) -> float:
    """How many times as fast as published a pass should be."""
    if name == published.TOTAL or (name == "f5vol4" and number == 1):
        return 1.0
    return COLD_GOAL if number == 1 else WARM_GOAL
