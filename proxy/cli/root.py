"""Where errors become messages and exit codes: the group that all commands belong to."""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from proxy.aside import NO_THREAD
from proxy.cli.output import say
from proxy.errors import NO_ROOM, ExitCode, OperatorError
from proxy.text import printable

_NO_THREAD = "can't start new thread"
"""The interpreter's message; it raises a plain RuntimeError."""


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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but that the program's own name may come before the command: `docker compose exec` has to be
        told it, and `docker compose run` and `docker run` tell it themselves."""
        return super().resolve_command(ctx, args[1:] if args[0] == "isthmus" and len(args) > 1 else args)


def explain(error: Exception) -> int:
    """Tell the operator what happened; the exit code."""
    match error:
        case OperatorError():
            return _explain(error.message, error.code)
        case click.ClickException():
            return _show(error)
        case click.Abort():
            return ExitCode.INTERRUPTED
        case OSError() if error.errno in NO_ROOM:
            remedy = "make room there, or send it elsewhere"
            return _explain(
                f"{error.filename or 'output'} cannot be written: {error.strerror}; {remedy}", ExitCode.FAILED
            )
        case FileNotFoundError() if _is_nowhere():
            return _explain("the directory in which this was typed is gone; cd to another one", ExitCode.FAILED)
        case RuntimeError() | OSError() if str(error) in {_NO_THREAD, NO_THREAD}:
            return _explain(NO_THREAD, ExitCode.FAILED)
        case _:
            return _explain_defect(error)


def _is_nowhere() -> bool:
    """True if the directory in which this process runs was removed: no relative path leads anywhere."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _explain_defect(error: Exception) -> int:
    if os.environ.get("ISTHMUS_DEBUG") == "1":
        say("".join(traceback.format_exception(error)), err=True)
    what = printable(f"{type(error).__name__}: {error}")
    hint = "this is a defect; run it again with ISTHMUS_DEBUG=1 and report what that shows"
    return _explain(f"unexpected {what} ({hint})", ExitCode.DEFECT)


def _show(error: click.ClickException) -> int:
    """Print click's own message, made printable: it repeats what was typed, perhaps copied from anywhere."""
    words = io.StringIO()
    error.show(words)
    with suppress(OSError):  # as below
        say(words.getvalue().removesuffix("\n").replace("\n\t", " "), err=True)  # click lists choices line by line
    return error.exit_code


def _explain(message: str, code: ExitCode) -> int:
    with suppress(OSError):  # stderr is full as well: then the code is all that tells
        say(f"isthmus: {message}", err=True)
    return code
