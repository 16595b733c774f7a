"""`isthmus demo`."""

import importlib

from proxy.cli.parts import WITH_BENCH
from proxy.config.units import SIZE, parse_size
from proxy.errors import ExitCode, OperatorError


def run(volume_size: str, mode: str, as_json: bool) -> int:
    """Let the bench do it; the exit code."""
    try:
        size = parse_size(volume_size)
    except ValueError as error:
        raise OperatorError(f"--volume-size {volume_size!r} {error}; {SIZE.remedy}", ExitCode.USAGE) from None
    try:
        demo = importlib.import_module("bench.demo")
    except ImportError as error:
        raise OperatorError(f"the demo is not installed ({error}); {WITH_BENCH}") from None
    code: int = demo.run(size, mode, as_json)
    return code
