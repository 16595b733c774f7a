"""What the definitions of all commands share."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from proxy import __version__
from proxy.cli.loading import load
from proxy.errors import OperatorError

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON instead of a table."
)


class _Path(click.Path):
    """A path; what reads or writes it says what is wrong with it. An empty one, as of a variable that is not set, is
    not taken for the working directory: a key would be written there."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty; name a file or a directory", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path()
WITH_BENCH = f"install its extra from the wheel's file: pip install './isthmus-{__version__}-py3-none-any.whl[bench]'"
"""The remedy where the bench, or what it needs, is not installed. No package index has Isthmus."""


def examples(*lines: str) -> str:
    """An epilog that shows the lines as they are."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


def perform(command: str, *arguments: Any, action: str = "run") -> int | None:
    """Import the command's module, only now, and let it do its work; an exit code, or None for success."""
    gc.disable()  # what is imported stays: to search it for garbage again and again takes a twelfth of a site's start
    try:
        module = load(f"proxy.cli.{command}")
    finally:
        gc.enable()
    result: int | None = getattr(module, action)(*arguments)
    return result


def import_of_bench(name: str, what: str) -> Any:
    """A module of the bench, which need not be installed. Raises OperatorError, which calls it `what`, if it is not."""
    try:
        return load(f"bench.{name}")
    except ImportError as error:
        raise OperatorError(f"{what} is not installed ({error}); {WITH_BENCH}") from None
