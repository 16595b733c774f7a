"""Isthmus beside its alternatives, plain TCP and tunnels: each sends the volumes of the field test over its line.

All are measured in the same run, with the same source and sink. A pass that takes several times as long as over a
perfect line is given up, and its rate until then counts.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.datasets import Dataset
from bench.lines import MBIT, far_sink, standing, untrue
from bench.machine import KERNEL, congestion_controls
from bench.replay import tunnels
from bench.replay.flow import Flow, send
from bench.replay.suite import Suite
from bench.replay.suites.alternatives_report import PASSES, VOLUMES, Place, published_rate, report
from bench.replay.suites.field import volume
from bench.replay.suites.field_pass import SETTING
from bench.replay.trial import Figure, Lacking, Options, Outcome, Stage, Trial
from bench.sites import Address, Pair, room_for
from bench.wan import Wan
from bench.wan.namespaces import lacking
from proxy.config.units import show_size

Opening = Callable[[Wan, Path, Address], AbstractContextManager[Address]]
"""Opens a way to an address of the west end, and yields the address of its entrance at the east end."""
PATIENCE, LEAST = 3.0, 4.0
"""A pass may take `PATIENCE` times as long as over a perfect line, and `LEAST` seconds more."""


@dataclass(frozen=True)
class Way:
    """One of the alternatives."""

    name: str
    open: Opening
    control: str = ""
    """The source's congestion control, where its own connection crosses the line."""
    lacking: Callable[[], str] = lambda: ""

    @property
    def direct(self) -> bool:
        """Whether there is no tunnel: then the sink is not on loopback."""
        return self.open is tunnels.plain


@contextmanager
def isthmus(store_size: str, wan: Wan, directory: Path, to: Address) -> Iterator[Address]:
    """A pair as shipped, with stores in memory."""
    with Pair({"array": to}, wan=wan, store_size=store_size) as pair:
        pair.wait_prepared()
        yield pair.forwards["array"]


def ways(command: str, scale: float) -> list[Way]:
    """All ways; Isthmus is the last one, with stores that have room for the largest volume."""
    room = room_for(max(volume(name, scale).size for name in VOLUMES))
    found = [
        Way("tcp-cubic", tunnels.plain, "cubic", partial(_lacking_control, "cubic")),
        Way("tcp-bbr", tunnels.plain, "bbr", partial(_lacking_control, "bbr")),
        Way("ssh", tunnels.ssh, lacking=tunnels.lacking_ssh),
        Way("stunnel", tunnels.stunnel, lacking=tunnels.lacking_stunnel),
    ]
    if command:
        found.append(Way("command", partial(tunnels.own, command)))
    return [*found, Way("isthmus", partial(isthmus, show_size(room)))]


def trials(options: Options) -> list[Trial]:
    """One trial for each way and volume."""
    return [
        Trial(
            tuple(Place(way.name, name, number).cell for number in PASSES),
            partial(measure, way, name),
            3.0 + len(PASSES) * 1.5 * _perfect(volume(name, options.scale)),
            {"way": way.name, "volume": name, "command": options.command if way.name == "command" else ""},
        )
        for way in ways(options.command, options.scale)
        for name in VOLUMES
    ]


def measure(way: Way, name: str, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Measure both passes. Raises Lacking."""
    if reason := way.lacking():
        raise Lacking(reason)
    contents = volume(name, stage.scale)
    most = PATIENCE * _perfect(contents) + LEAST
    with standing(SETTING) as wan, far_sink(wan, wan.addresses["west"] if way.direct else tunnels.LOOPBACK) as end:
        stage.tell("opening the way")
        with way.open(wan, stage.directory, end.address) as entrance:
            slow = False
            for number in PASSES:
                place = Place(way.name, name, number)
                if slow:
                    yield place.cell, _as_before()
                    continue
                stage.tell(f"pass {number} of {len(PASSES)}")
                flow = send(wan, [contents], [entrance], [end], most, way.control)
                slow = not flow.finished
                yield place.cell, _outcome(wan, way, contents, place, flow)


def _outcome(wan: Wan, way: Way, contents: Dataset, place: Place, flow: Flow) -> Outcome:
    rate, given_up = _rate(flow)
    remark = "; ".join(filter(None, [given_up, untrue(wan, SETTING), flow.uncompared]))
    crossed = 100 * (flow.line.samples[-1].so_far - flow.line.samples[0].so_far) / contents.size
    figures = (
        Figure("throughput", 8 * rate / MBIT, "Mb/s", True, published_rate(place), remark=remark),
        Figure("on the line", crossed if flow.finished else None, "%", False, remark=remark),
    )
    with wan.inside("east"):
        control = way.control or (KERNEL / "tcp_congestion_control").read_text().strip()
    return Outcome(figures, flow.samples, {"congestion_control": control}, flow.complaint)


def _rate(flow: Flow) -> tuple[float, str]:
    """Bytes a second, and a remark if they are of less than the whole volume."""
    course, (transfer,) = flow.arrived, flow.transfers
    if flow.given_up is None:
        return (transfer.rate if transfer else 0.0), ""
    seconds = flow.given_up - course.began
    return course.rate(course.began, flow.given_up), f"given up after {seconds:.0f} s; the rate until then"


def _as_before() -> Outcome:
    return Outcome((Figure("throughput", None, "Mb/s", remark="not sent again: the first pass had to be given up"),))


def _perfect(contents: Dataset) -> float:
    """Seconds that a perfect line needs for all of the volume."""
    return contents.size * 8 / SETTING.goodput


def _lacking_control(name: str) -> str:
    return "" if name in congestion_controls() else f"this kernel has no {name} (modprobe tcp_{name})"


ALTERNATIVES = Suite(
    "alternatives",
    "Alternatives: plain TCP, ssh -C, stunnel, a command of your own, and Isthmus",
    1 / 192,
    trials,
    report,
    lacking,
)
