"""Answers on demand are new, and still cost no more than their share, whatever is asked for."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from proxy.web.answering import Busy
from proxy.web.fresh import Fresh
from proxy.web.routes import API
from tests.patience import PATIENCE
from tests.unit.observe.snapshots import changed, stream
from tests.unit.web.stage import FakeSite, hang_up, listening, parse, play, request


class Bench:
    """Takes numbers for snapshots, and makes answers of them, each at a cost; a sleep passes the time, and whoever else
    wakes comes first."""

    def __init__(self, cost: float, encoding: float = 0.0) -> None:
        self.now = self.spent = 0.0
        self.price, self.encoding = cost, encoding
        self.taken = self.made = 0
        self.waking: list[Callable[[], Awaitable[Any]]] = []
        self.fresh = Fresh(self.take, lambda: self.now, lambda: self.spent, self.sleep)

    def take(self) -> Any:
        self.taken += 1
        self.pass_busy(self.price)
        return self.taken

    def make(self) -> bytes:
        self.made += 1
        number: Any = self.fresh.snapshot()
        self.pass_busy(self.encoding)
        return str(number).encode()

    def pass_busy(self, seconds: float) -> None:
        self.spent += seconds
        self.now += seconds

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        for ask in self.waking:
            await ask()

    def ask(self, key: str = "status") -> int:
        return asyncio.run(self.asking(key))

    async def asking(self, key: str = "status") -> int:
        return int(await self.fresh(key, self.make))


def test_each_is_taken_after_it_was_asked_for() -> None:
    bench = Bench(0.002)
    assert [bench.ask() for _ in range(5)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("bench", [Bench(0.01), Bench(0.0, 0.01), Bench(0.005, 0.02)])
def test_they_cost_a_tenth_of_the_time(bench: Bench) -> None:
    """Snapshots and what is computed of them, and all kinds together."""
    for at in range(100):
        bench.ask(f"kind {at % 5}")
    assert bench.spent <= 0.11 * bench.now


def test_who_waits_gets_what_another_one_has_had_made_meanwhile() -> None:
    bench = Bench(0.001, 0.001)
    bench.ask()

    async def another() -> Any:
        bench.waking = []
        return await bench.asking()

    bench.waking = [another]
    assert bench.ask() == 2
    assert (bench.taken, bench.made) == (2, 2)


def test_nobody_waits_for_long_where_something_is_kept() -> None:
    bench = Bench(2.0)
    bench.ask()
    asked = bench.now
    assert bench.ask() == 1
    assert bench.now - asked <= 0.5
    bench.now += 30
    assert bench.ask() == 2


def test_what_is_not_kept_or_too_old_is_refused_after_a_while() -> None:
    bench = Bench(10.0)
    bench.ask()
    asked = bench.now
    with pytest.raises(Busy):
        bench.ask("another")
    assert bench.now - asked == pytest.approx(5)
    assert bench.ask() == 1
    bench.now += 40
    with pytest.raises(Busy):
        bench.ask()
    assert bench.made == 1


def test_what_is_kept_is_bounded() -> None:
    bench = Bench(0.0)
    for number in range(100):
        bench.ask(f"search {number}")
        bench.now += 0.01
    bench.price = 10.0
    assert bench.ask() == 101
    assert bench.ask("search 99") == 100
    with pytest.raises(Busy):
        bench.ask("search 0")


def test_a_failure_costs_as_well() -> None:
    bench = Bench(0.0, 1.0)

    def fail() -> bytes:
        bench.pass_busy(1.0)
        raise KeyError

    async def ask() -> None:
        with pytest.raises(KeyError):
            await bench.fresh("history", fail)

    asyncio.run(ask())
    asked = bench.now
    with pytest.raises(Busy):
        bench.ask()
    assert bench.now > asked


def test_a_machine_that_stood_still_is_no_cost() -> None:
    bench = Bench(0.001)
    bench.ask()
    bench.now += 10
    assert bench.ask() == 2
    asked = bench.now
    assert bench.ask() == 3
    assert bench.now - asked < 0.1


def test_many_who_ask_for_a_large_status_at_once_are_given_the_same_bytes() -> None:
    class Counting(FakeSite):
        taken = 0

        def take(self) -> Any:
            self.taken += 1
            return super().take()

    async def scene() -> None:
        site = Counting(changed(streams=[stream(id=number) for number in range(1000)]))
        async with listening(site) as stage:
            crowd = [await stage.connect() for _ in range(40)]
            for _, writer in crowd:
                writer.write(request(f"{API}/status", Connection="close"))
            answers = [parse(await asyncio.wait_for(reader.read(-1), PATIENCE)) for reader, _ in crowd]
            assert {answer.status for answer in answers} == {200}
            assert len(json.loads(answers[-1].body)["streams"]) == 1000
            assert site.taken < 20
            for _, writer in crowd:
                await hang_up(writer)

    play(scene)
