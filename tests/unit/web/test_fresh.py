"""Snapshots on demand are new, and still cost no more than their share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from proxy.web.api import Fresh


class Bench:
    """Takes numbers for snapshots, each at a cost; a sleep passes the time, and whoever else wakes comes first."""

    def __init__(self, cost: float) -> None:
        self.now = self.spent = 0.0
        self.price = cost
        self.taken = 0
        self.waking: list[Callable[[], Awaitable[Any]]] = []
        self.fresh = Fresh(self.take, lambda: self.now, lambda: self.spent, self.sleep)

    def take(self) -> Any:
        self.taken += 1
        self.spent += self.price
        self.now += self.price
        return self.taken

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        for ask in self.waking:
            await ask()

    def ask(self) -> Any:
        return asyncio.run(self._ask())

    async def _ask(self) -> Any:
        return await self.fresh()


def test_each_is_taken_after_it_was_asked_for() -> None:
    bench = Bench(0.002)
    assert [bench.ask() for _ in range(5)] == [1, 2, 3, 4, 5]


def test_they_cost_a_tenth_of_the_time() -> None:
    bench = Bench(0.01)
    for _ in range(100):
        bench.ask()
    assert bench.spent <= 0.11 * bench.now


def test_who_waits_gets_what_another_one_has_taken_meanwhile() -> None:
    bench = Bench(0.002)
    bench.ask()

    async def another() -> Any:
        bench.waking = []
        return await bench.fresh()

    bench.waking = [another]
    assert bench.ask() == 2
    assert bench.taken == 2


def test_nobody_waits_for_long() -> None:
    bench = Bench(2.0)
    bench.ask()
    asked = bench.now
    assert bench.ask() == 1
    assert bench.now - asked <= 0.5
    bench.now += 30
    assert bench.ask() == 2


def test_a_machine_that_stood_still_is_no_cost() -> None:
    bench = Bench(0.001)
    bench.ask()
    bench.now += 10
    assert bench.ask() == 2
    asked = bench.now
    assert bench.ask() == 3
    assert bench.now - asked < 0.1
