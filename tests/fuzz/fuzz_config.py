"""Any bytes are a configuration or a list of mistakes, never another exception.

    python tests/fuzz/fuzz_config.py [CORPUS] [-max_total_time=SECONDS]

Coverage-guided, by atheris; what CORPUS holds is where it begins. `test_fuzz_config.py` gives it a short run.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["proxy", "tomllib"]):
    from proxy.config.loading import parse
    from proxy.config.mistakes import ConfigError

SOURCE = Path("nowhere/site.toml")


def one_input(content: bytes) -> None:
    """Parse it, and check what the operator would be told."""
    try:
        parse(content, SOURCE)
    except ConfigError as error:
        told = str(error)
        if not error.mistakes or not all(line.isprintable() for line in told.splitlines()):
            raise AssertionError(told) from error


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
