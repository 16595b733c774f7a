"""How long small questions and their answers take while bulk fills the line, through the pair and in plain TCP."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from bench import load
from bench.case_results import Figure
from bench.cases import Bench
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import Setting, standing, untrue
from bench.overwan import iperf
from bench.overwan.streams import ENDLESS, Stream, pair_on
from bench.sites import Address
from bench.wan import Wan

SETTINGS = [Setting(), Setting(loss=1)]
QUESTIONS, LEAST = 600, 40
BYTES = 512
EVERY = 0.05
"""Seconds from one question to the next."""
SETTLE = 6.0
"""Seconds that bulk has the line for itself first."""
LATE = 40.0
"""Milliseconds beyond the round trip within which 99 % of the answers have to come."""


def urgency(bench: Bench) -> Iterator[Figure]:
    """Questions through the pair and beside plain TCP. The bound is the same on a line with losses, although one packet
    lost in a hundred, each way, concerns more than one question in a hundred."""
    for setting in SETTINGS[: bench.lines]:
        with standing(setting) as wan:
            identical, found = _through_the_pair(bench, wan, setting)
            values = added(found, setting)
            goal = Goal("urgent, added, 99 %", values["99 %"], LATE, False, "ms")
            yield Figure(setting.text, "the pair", values, (goal,), identical, untrue(wan, setting))
            for control in iperf.offered():
                found = _in_plain_tcp(bench, wan, setting, control)
                yield Figure(setting.text, f"plain TCP, {control}", added(found, setting), excuse=untrue(wan, setting))


def added(found: dict[str, float], setting: Setting) -> dict[str, float]:
    """Milliseconds beyond the bare round trip, and what bulk has cost."""
    return {
        "median": 1000 * found["median"] - setting.round_trip,
        "99 %": 1000 * found["percentile_99"] - setting.round_trip,
        "overflow, %": 100 * found["overflow"],
    }


def _through_the_pair(bench: Bench, wan: Wan, setting: Setting) -> tuple[bool, dict[str, float]]:
    """Whether all bytes of the bulk arrived, and the times of the questions."""
    bench.tell(f"{setting.text}: questions through the pair")
    with (
        _echo(wan, load.LOOPBACK) as echo,
        pair_on(wan, "array", exports={"echo": echo}) as (pair, _),
        Stream(wan, pair.forwards["array"], Dataset("urgency", ENDLESS)) as stream,
    ):
        found = _ask(bench, wan, pair.forwards["echo"])
        return stream.end().verified, found


def _in_plain_tcp(bench: Bench, wan: Wan, setting: Setting, control: str) -> dict[str, float]:
    bench.tell(f"{setting.text}: questions beside iperf3 -C {control}")
    with _echo(wan, wan.addresses["west"]) as echo, iperf.bulk(wan, control, lasting(bench)):
        return _ask(bench, wan, echo)


@contextmanager
def _echo(wan: Wan, host: str) -> Iterator[Address]:
    """The address of an echo at the west end."""
    with ExitStack() as stack:
        with wan.inside("west"):
            address, _ = stack.enter_context(load.echoing(host, BYTES))
        yield address


def _ask(bench: Bench, wan: Wan, to: Address) -> dict[str, float]:
    time.sleep(SETTLE)
    before = wan.stats()["west"]
    with wan.inside("east"):
        found = load.latency(to, questions(bench), BYTES, EVERY)
    return found | {"overflow": overflow(before, wan.stats()["west"])}


def questions(bench: Bench) -> int:
    """How many questions are asked each time."""
    return max(LEAST, round(QUESTIONS * bench.scale))


def lasting(bench: Bench) -> int:
    """Seconds for which plain TCP fills the line beside the questions: twice what they take, in case the machine is
    busy."""
    return round(2 * questions(bench) * EVERY + SETTLE)


def overflow(before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """Share of the packets that found the line's queue full, because the bulk was sent too fast."""
    packets = after["packets"] - before["packets"]
    return (after["queue"] - before["queue"]) / packets if packets else 0.0
