"""How much is done, counted instead of timed: on a busy machine no time says anything."""

import sys
from collections.abc import Callable
from typing import Any


def calls(function: Callable[[], object]) -> int:
    """Calls of functions, also of those written in C, until that one has returned. It may do nothing in threads."""
    made = 0

    def note(frame: Any, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return made
