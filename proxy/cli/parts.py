"""What the definitions of all commands share."""

import gc
from typing import Any

from proxy import __version__
from proxy.cli.loading import load

WITH_BENCH = f"install its extra from the wheel's file: pip install './isthmus-{__version__}-py3-none-any.whl[bench]'"
"""The remedy where the bench, or what it needs, is not installed. No index has Isthmus."""


def examples(*lines: str) -> str:
    """An epilog that shows the lines as they are."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


def perform(command: str, *arguments: Any, action: str = "run") -> int | None:
    """Import the command's module, only now, and let it do its work; an exit code, or None for success."""
    gc.disable()  # what is imported stays: looking through it again and again takes a twelfth of a site's start
    try:
        module = load(f"proxy.cli.{command}")
    finally:
        gc.enable()
    result: int | None = getattr(module, action)(*arguments)
    return result
