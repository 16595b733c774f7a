"""`isthmus bench`."""

from pathlib import Path
from typing import Any

from proxy.cli.parts import import_of_bench
from proxy.errors import ExitCode, OperatorError

LEAST, MOST = 1 / 65536, 1.0


def list_suites(suites: tuple[str, ...], scale: str | None) -> int:
    """Show the suites, or the cells of some; the exit code."""
    return _perform("command", "show_suites", suites, parse_scale(scale))


def run(options: dict[str, Any]) -> int:
    """Let the bench measure; the exit code."""
    order = _bench("command").Order(**(options | {"scale": parse_scale(options["scale"])}))
    return _perform("command", "run", order)


def report(directory: Path, html: Path | None, markdown: Path | None) -> int:
    """Let the bench make a report of what was measured; the exit code."""
    return _perform("reporting", "report", directory, html, markdown)


def parse_scale(text: str | None) -> float | None:
    """From "1/16" or "0.1". Raises OperatorError."""
    if text is None:
        return None
    number, _, part = text.partition("/")
    try:
        scale = float(number) / float(part or 1)
    except (ValueError, ZeroDivisionError):
        scale = 0.0
    if not LEAST <= scale <= MOST:
        remedy = f"write a share of the real sizes such as 1/16, from 1/{1 / LEAST:.0f} to 1"
        raise OperatorError(f"--scale {text!r} is no scale; {remedy}", ExitCode.USAGE)
    return scale


def _perform(module: str, what: str, *arguments: Any) -> int:
    code: int = getattr(_bench(module), what)(*arguments)
    return code


def _bench(module: str) -> Any:
    return import_of_bench(f"replay.{module}", "the bench")
