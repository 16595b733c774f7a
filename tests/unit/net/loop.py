"""An event loop whose clock the tests move."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

NO_TIME = 0.0


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


@dataclass
class Handle:
    call: Callable[[], object]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True
