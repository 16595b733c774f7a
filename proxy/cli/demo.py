"""`isthmus demo`."""

import importlib

from proxy.cli import quantities
from proxy.cli.parts import WITH_BENCH
from proxy.errors import OperatorError


def run(volume_size: str, mode: str, as_json: bool) -> int:
    """Let the bench do it; the exit code."""
    size = quantities.size("--volume-size", volume_size)
    try:
        demo = importlib.import_module("bench.demo")
    except ImportError as error:
        raise OperatorError(f"the demo is not installed ({error}); {WITH_BENCH}") from None
    code: int = demo.run(size, mode, as_json)
    return code
