"""Where errors become messages and exit codes: the group that all commands belong to."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from proxy.errors import ExitCode, OperatorError
from proxy.text import printable


class Root(click.Group):
    """Ends with an exit code of `ExitCode`, never with a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run and exit. With `standalone_mode` off errors go to the caller instead, as in click."""
        try:
            result = super().main(args, prog_name or "isthmus", complete_var, standalone_mode=False, **extra)
        except Exception as error:
            if not standalone_mode:
                raise
            sys.exit(explain(error))
        if not standalone_mode:
            return result
        sys.exit(result if isinstance(result, int) else ExitCode.OK)


def explain(error: Exception) -> int:
    """Tell the operator what happened; the exit code."""
    match error:
        case OperatorError():
            return _say(error.message, error.code)
        case click.ClickException():
            error.show()
            return error.exit_code
        case click.Abort():
            return ExitCode.INTERRUPTED
        case _:
            return _explain_defect(error)


def _explain_defect(error: Exception) -> int:
    if os.environ.get("ISTHMUS_DEBUG") == "1":
        click.echo("".join(traceback.format_exception(error)), err=True)
    what = printable(f"{type(error).__name__}: {error}")
    hint = "this is a defect; run it again with ISTHMUS_DEBUG=1 and report what that shows"
    return _say(f"unexpected {what} ({hint})", ExitCode.DEFECT)


def _say(message: str, code: ExitCode) -> int:
    click.echo(f"isthmus: {message}", err=True)
    return code
