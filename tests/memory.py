"""Memory that Python takes while something is done, as tracemalloc counts it; what was there before does not count."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Taken:
    """As of the last look, and of the end of `tracing`."""

    kept: int = 0
    """Bytes that are taken still."""
    most: int = 0
    """Bytes that were taken at once."""

    def look(self) -> None:
        """How much it is now."""
        self.kept, self.most = tracemalloc.get_traced_memory()


@contextmanager
def tracing() -> Iterator[Taken]:
    """Count what is taken meanwhile. Other threads of the process may take some as well."""
    taken = Taken()
    tracemalloc.start()
    try:
        yield taken
        taken.look()
    finally:
        tracemalloc.stop()
