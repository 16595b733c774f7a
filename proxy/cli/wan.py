"""`isthmus wan`."""

import importlib
from typing import Any

from proxy.cli.parts import WITH_BENCH
from proxy.errors import ExitCode, OperatorError


def run(what: str, *arguments: Any) -> int | None:
    """Let the bench do it; an exit code, or None for success."""
    try:
        command = importlib.import_module("bench.wan.command")
        errors = importlib.import_module("bench.wan.errors")
    except ImportError as error:
        raise OperatorError(f"the WAN emulator is not installed ({error}); {WITH_BENCH}") from None
    try:
        code: int | None = getattr(command, what)(*arguments)
    except errors.WrongSetting as error:
        raise OperatorError(f"--{error.setting.replace('_', '-')} {error.wrong}", ExitCode.USAGE) from None
    except errors.WanFailure as error:
        raise OperatorError(str(error)) from None
    return code
