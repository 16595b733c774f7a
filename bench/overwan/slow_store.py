"""How fast data is sent that both sites hold, if the far site has to read it from a hard disk in another order.

Compared with new data on the same line: data that repeats must not be much slower.
"""

import random
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from bench.case_results import Figure
from bench.cases import Bench
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import MBIT, Setting, standing, untrue
from bench.overwan.streams import pair_on
from bench.replicator import Transfer, replicate
from bench.sites import Pair
from bench.slow_disk import NoSlowDisk, slow_reads
from bench.wan import Wan
from proxy.config.units import show_size

MIB = 1 << 20
SETTINGS = [Setting(), Setting("155Mbit", 20), Setting("1Gbit", 20)]
FILLING = {"rate": "1Gbit", "delay": "0ms"}
IOPS = 120
"""Reads a second of a hard disk with 7,200 turns a minute."""
WHAT = f"{IOPS} reads/s"
VOLUME = 768 * MIB
"""Bytes: several times what a site keeps of its store in memory."""
PIECE = 128 << 10
"""Bytes of the pieces of the volume, which are sent in random order."""
PASS = 64 * MIB
ROUNDS = 3
ENOUGH = 90.0
"""Percent of what new data does, as on all fast lines."""
SETTLE = 3.0
"""Seconds that the disk has to write what it was given."""


def slow_store(bench: Bench) -> Iterator[Figure]:
    """Each line has a pair of its own, whose stores are first filled over a fast line."""
    size = bench.bytes(VOLUME, 16 * MIB)
    for setting in SETTINGS[: bench.lines]:
        try:
            yield _on(bench, setting, size)
        except NoSlowDisk as reason:
            yield Figure(setting.text, WHAT, {}, excuse=str(reason))


def _on(bench: Bench, setting: Setting, size: int) -> Figure:
    length = min(PASS, size // 8)
    volume = b"".join(Dataset("slow store", size))
    passes = _passes(volume, length)
    with standing(setting) as wan, slow_reads(bench.directory, IOPS) as hold, ExitStack() as stack:
        wan.set(**FILLING)
        room = show_size(size * 2 + 256 * MIB)
        pair, _ = stack.enter_context(pair_on(wan, "array", store="disk", store_size=room))
        bench.tell(f"{setting.text}: filling the stores over a fast line")
        filled = _send(wan, pair, _pieces(volume))
        time.sleep(bench.seconds(SETTLE))
        wan.set(**setting.texts)
        hold(pair.west.pid)
        bench.tell(f"{setting.text}: new data, then what both sites hold in another order")
        new = [_send(wan, pair, Dataset(f"new {number}", length).writes(PIECE)) for number in range(2)]
        first, *others = [_send(wan, pair, each) for each in passes]
        literal = pair.east.status()["bytes"]["relieved"] / (length * len(passes))
        return judged(setting, [filled, *new], [first, *others], literal, untrue(wan, setting))


def judged(setting: Setting, news: list[Transfer], passes: list[Transfer], literal: float, excuse: str = "") -> Figure:
    """The line of the table. `news`: transfers of new data, of which the last counts: by then the line's rate is known.

    `passes`: transfers of known data; in the first one the near site hears of the slow disk. `literal`: what part of
    all these went as literals although the far site holds it.
    """
    new, (first, *others) = news[-1], passes
    known = statistics.median(each.rate for each in others)
    values = {
        "first": first.rate * 8 / MBIT,
        "known": known * 8 / MBIT,
        "new": new.rate * 8 / MBIT,
        "literal, %": 100 * literal,
        "limit": setting.goodput / MBIT,
    }
    goals = () if not new.rate else (Goal("known on a slow disk / new", 100 * known / new.rate, ENOUGH, True, "%"),)
    return Figure(setting.text, WHAT, values, goals, all(each.verified for each in (*news, *passes)), excuse)


def _passes(volume: bytes, length: int) -> list[list[bytes]]:
    """Parts of the volume, each of pieces from all over it."""
    pieces = _pieces(volume)
    random.Random(1).shuffle(pieces)
    each = length // PIECE
    return [pieces[at * each : (at + 1) * each] for at in range(1 + ROUNDS)]


def _pieces(volume: bytes) -> list[bytes]:
    return [volume[at : at + PIECE] for at in range(0, len(volume), PIECE)]


def _send(wan: Wan, pair: Pair, writes: Iterable[bytes]) -> Transfer:
    with wan.inside("east"):
        return replicate(writes, pair.forwards["array"])
