"""An event loop of asyncio whose time jumps to what is due next: hours pass at once, and always in the same way."""

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: it moves the clock instead."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found:
            assert timeout is not None, "nothing will ever happen any more"
            self.now += max(0.0, timeout)
        return found


class Clockwork(asyncio.SelectorEventLoop):
    """Threads' work is done by the loop, after a while; of errors nobody is spared."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.delays: tuple[float, ...] = (0.0,)
        """Seconds that the disk may take."""
        self.errors: list[Any] = []
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        self.set_exception_handler(lambda _, context: self.errors.append(context))

    def time(self) -> float:
        return self._jumping.now

    def spend(self, seconds: float) -> None:
        """What is being done takes so long."""
        self._jumping.now += seconds

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """One at a time is not kept to: that is for the threads' own tests."""
        done = self.create_future()

        def work() -> None:
            if not done.cancelled():
                done.set_result(func(*args))

        self.call_later(self.rng.choice(self.delays), work)
        return done

    async def create_connection(self, protocol_factory: Any, *_: Any, sock: Any = None, **__: Any) -> Any:
        """`sock` is the transport itself; as uvloop does it: who is cancelled after it has begun tears it."""
        protocol = protocol_factory()
        sock.connect(protocol)
        try:
            await asyncio.sleep(self.rng.choice(self.delays))
        except asyncio.CancelledError:
            sock.abort()
            raise
        return sock, protocol


def played(scene: Coroutine[Any, Any, T]) -> T:
    """What comes of a scene on a loop of its own; nothing may go wrong on that loop."""
    with closing(Clockwork(0)) as loop:
        found = loop.run_until_complete(scene)
    assert not loop.errors
    return found
