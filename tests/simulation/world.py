"""A network in one process: a clock that jumps, connections that delay, split, lose and die, all from one seed."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from functools import partial

IN_FLIGHT_MAX = 128 << 10
"""Bytes that a pipe takes before its writer has to wait, as a socket's buffer does."""
PIECES = (1, 7, 100, 5000, 70000, 70000)
"""Lengths, in bytes, of what arrives at once."""


class World:
    """Time in seconds. Everything happens in `run`, in the order of time and then of scheduling."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 1000.0
        self.calm = False
        """No more faults: connections stay, and are quick."""
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, delay: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (self.now + delay, next(self._order), call))

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def run(self, until: float, done: Callable[[], bool] | None = None) -> None:
        """Let time pass until then, or until `done`."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            if done is not None and done():
                return
            self.now, _, call = heapq.heappop(heap)
            call()
        self.now = max(self.now, until)


class Pipe:
    """One direction of a connection: bytes arrive in order, in other pieces, later; or not at all."""

    def __init__(self, world: World, deliver: Callable[[bytes], None], drained: Callable[[], None]) -> None:
        self._world = world
        self._deliver = deliver
        self._drained = drained
        self._latency = world.rng.choice([0.0005, 0.01, 0.05, 0.15])
        self._last = 0.0
        self.in_flight = 0
        self.open = True
        self.black = False

    @property
    def can_write(self) -> bool:
        return self.open and self.in_flight < IN_FLIGHT_MAX

    def write(self, data: bytes) -> None:
        world, rng = self._world, self._world.rng
        whole = len(data)
        self.in_flight += whole
        at = 0
        while at < whole:
            size = rng.choice(PIECES)
            delay = self._latency * rng.uniform(1.0, 1.5)
            self._last = max(self._last, world.now + delay)
            world.after(self._last - world.now, partial(self._arrive, data[at : at + size]))
            at += size

    def _arrive(self, piece: bytes) -> None:
        if not self.open or self.black:
            return
        full = not self.can_write
        self.in_flight -= len(piece)
        self._deliver(piece)
        if full:
            self._drained()
