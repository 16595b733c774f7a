"""`isthmus wan`."""

import importlib
from typing import Any

from proxy.cli.parts import WITH_BENCH
from proxy.errors import OperatorError


def run(what: str, *arguments: Any) -> int | None:
    """Let the bench do it; an exit code, or None for success."""
    try:
        command = importlib.import_module("bench.wan.command")
        failure = importlib.import_module("bench.wan.errors").WanFailure
    except ImportError as error:
        raise OperatorError(f"the WAN emulator is not installed ({error}); {WITH_BENCH}") from None
    try:
        code: int | None = getattr(command, what)(*arguments)
    except failure as error:
        raise OperatorError(str(error)) from None
    return code
