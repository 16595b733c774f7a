"""Loopback, as far as a bench needs a line."""

import contextlib
from typing import cast

from bench.wan import Wan


class _NoLine:
    def inside(self, end: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def stats(self) -> dict[str, dict[str, int]]:
        return {"west": {"delivered_bytes": 0}}


NO_LINE = cast(Wan, _NoLine())
"""Both its ends are in this namespace, and nothing is counted."""
