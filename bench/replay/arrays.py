"""Real arrays, at the ends of a line or on loopback, with or without a pair between them.

    with standing_on(Ground("1g", "pair"), directory, near=[size], far=[size, size]) as arrays:
        arrays.near.url(1), arrays.far_url(2)

The near array is a target at the east end, the far one a target at the west end; `far_url` leads to the latter by way
of the line alone, or of the pair. Without a line all of it is on loopback.
"""

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.array import IscsiTarget
from bench.lines import Setting, exhausted, standing, untrue
from bench.machine import Cores
from bench.replay import published_lines as lines
from bench.replay.trial import Lacking
from bench.sites import Address, Pair
from bench.wan import Wan
from bench.wan.namespaces import lacking as lacking_line

LINES = {name: Setting(rate, 0) for name, rate in lines.RATES.items()}
"""Lines without delay: the published tests were made side by side, and none is told of."""
NO_LINE = "none"
TITLES = {**lines.TITLES, NO_LINE: "no line"}
WAYS = {"direct": "direct", "pair": "through Isthmus"}
QUEUE = "1MiB"
"""Length of a line's queue: about that of a port of a storage switch."""
STORE = "256MiB"
NEAR, FAR = "near", "far"
"""Directories of the arrays; the first one has the longer name."""


@dataclass(frozen=True)
class Ground:
    """What is between the arrays."""

    line: str
    """A key of `LINES`, or `NO_LINE`."""
    way: str
    """A key of `WAYS`."""

    @property
    def setting(self) -> Setting | None:
        """The line's setting, or None if there is no line."""
        return LINES.get(self.line)

    @property
    def place(self) -> str:
        """What names of cells begin with."""
        return f"{self.way}/{self.line}"


class Arrays:
    """The arrays on a ground, and what is between them. For one thread, except `inside`."""

    def __init__(
        self,
        ground: Ground,
        wan: Wan | None,
        near: IscsiTarget | None,
        far: IscsiTarget,
        via: Address,
        pair: Pair | None,
    ) -> None:
        """`near`, `wan`, `pair`: None if there is none. `via`: where initiators at the east end find the far array."""
        self.ground = ground
        self.wan = wan
        self.far = far
        self.via = via
        self._near = near
        self._pair = pair
        self._used_before = 0.0
        self._cores = Cores()

    @property
    def near(self) -> IscsiTarget:
        """The array at the east end."""
        if self._near is None:
            raise ValueError("no near array was asked for")
        return self._near

    def far_url(self, unit: int) -> str:
        """The URL, for libiscsi, of a unit of the far array, by way of `via`."""
        return self.far.url(unit, self.via)

    def inside(self, end: str = "east") -> contextlib.AbstractContextManager[None]:
        """A context for threads and processes that are to be at that end."""
        return self.wan.inside(end) if self.wan else contextlib.nullcontext()

    def begin(self) -> None:
        """Begin to measure: `cpu_seconds` and `remark` are about what follows."""
        self._used_before = self._used()
        self._cores = Cores()

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds that the sites have used since `begin`."""
        return self._used() - self._used_before

    def _used(self) -> float:
        return self._pair.cpu_seconds() if self._pair else 0.0

    def remark(self) -> str:
        """What a reader has to know about what was measured since `begin`, or nothing."""
        late = untrue(self.wan, self.ground.setting) if self.wan and self.ground.setting else ""
        return late or exhausted(self._cores.used())


@contextlib.contextmanager
def standing_on(ground: Ground, directory: Path, far: Sequence[int], near: Sequence[int] = ()) -> Iterator[Arrays]:
    """Arrays on that ground; `far`, `near`: the sizes of their units in bytes.

    Raises Lacking, also if the machine does not carry the line, ArrayFailure, SiteFailure, WanFailure.
    """
    if reason := lacking(ground) or IscsiTarget.too_long(directory / NEAR) or not_carried(ground):
        raise Lacking(reason)
    with ExitStack() as stack:
        wan = stack.enter_context(standing(ground.setting)) if ground.setting else None
        if wan:
            wan.set(queue=QUEUE)
        source = _target(stack, wan, "east", directory / NEAR, near) if near else None
        target = _target(stack, wan, "west", directory / FAR, far)
        pair: Pair | None = None
        via: Address = (wan.addresses["west"] if wan else "127.0.0.1", target.address[1])
        if ground.way == "pair":
            pair = stack.enter_context(Pair({"array": target.address}, store_size=STORE, wan=wan))
            pair.wait_prepared()
            via = pair.forwards["array"]
        yield Arrays(ground, wan, source, target, via, pair)


def _target(stack: ExitStack, wan: Wan | None, end: str, directory: Path, sizes: Sequence[int]) -> IscsiTarget:
    directory.mkdir()
    target = IscsiTarget(directory, sizes, listen="0.0.0.0" if wan else "127.0.0.1")
    with wan.inside(end) if wan else contextlib.nullcontext():
        return stack.enter_context(target)


def lacking(ground: Ground) -> str:
    """Why nothing can be measured on that ground, or nothing."""
    if reason := IscsiTarget.lacking():
        needed = "deploy/system-packages bench installs what is missing, as root"
        return f"{reason}; {needed if 'installed' in reason else 'run it with sudo'}"
    return lacking_line() if ground.setting else ""


def not_carried(ground: Ground) -> str:
    """Why figures on that line would mean nothing on this machine, or nothing. Raises WanFailure."""
    return lines.not_carried(lines.RATES[ground.line]) if ground.setting else ""
