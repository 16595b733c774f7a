"""The time zone of a test, as the C library has it: it looks at TZ only when it is told to."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def time_zone(name: str) -> Iterator[None]:
    """This process is in that one meanwhile."""
    try:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("TZ", name)
            time.tzset()
            yield
    finally:
        time.tzset()
