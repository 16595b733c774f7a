"""An event loop whose clock the tests move, and a clock for what takes time within a round."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

NO_TIME = 0.0
A_ROUND = 0.01


@dataclass
class Loop:
    """Calls what is due."""

    now: float = 0.0
    due: list[tuple[float, int, Any]] = field(default_factory=list)
    number: Any = field(default_factory=count)

    def time(self) -> float:
        return self.now

    def call_soon(self, call: Callable[..., object], *arguments: Any) -> "Handle":
        return self.call_later(NO_TIME, call, *arguments)

    def call_later(self, seconds: float, call: Callable[..., object], *arguments: Any) -> "Handle":
        handle = Handle(lambda: call(*arguments))
        self.due.append((self.now + seconds, next(self.number), handle))
        return handle

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.due and min(self.due)[0] <= until:
            first = min(self.due)
            self.due.remove(first)
            self.now = max(self.now, first[0])
            if not first[2].cancelled:
                first[2].call()
        self.now = until

    def next_round(self) -> None:
        """As a loop does it: what is called soon meanwhile has to wait for the round after."""
        due, self.due = self.due, []
        for _, _, handle in due:
            if not handle.cancelled:
                handle.call()
        self.now += A_ROUND


@dataclass
class Handle:
    call: Callable[[], object]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """What is read of the time while something is done; it passes when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now
