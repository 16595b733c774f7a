"""`isthmus wan`."""

from typing import Any

from proxy.cli.parts import import_of_bench
from proxy.errors import ExitCode, OperatorError


def run(what: str, *arguments: Any) -> int | None:
    """Let the bench do it; an exit code, or None for success. Raises OperatorError."""
    command, errors = (import_of_bench(f"wan.{name}", "the WAN emulator") for name in ("command", "errors"))
    try:
        code: int | None = getattr(command, what)(*arguments)
    except errors.WrongSetting as error:
        raise OperatorError(f"--{error.setting.replace('_', '-')} {error.wrong}", ExitCode.USAGE) from None
    except errors.WanFailure as error:
        raise OperatorError(str(error)) from None
    return code
