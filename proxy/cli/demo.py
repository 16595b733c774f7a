"""`isthmus demo`."""

from proxy.cli import quantities
from proxy.cli.parts import import_of_bench


def run(volume_size: str, mode: str, as_json: bool) -> int:
    """Let the bench do it; the exit code. Raises OperatorError."""
    size = quantities.size("--volume-size", volume_size)
    code: int = import_of_bench("demo", "the demo").run(size, mode, as_json)
    return code
