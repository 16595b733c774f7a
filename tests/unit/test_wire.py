"""The wire between sites of tests leaves nothing open, however it ends: another test would be blamed for that."""

import gc
import socket
from collections.abc import Callable

import pytest

from tests.integration.bed.ends import Array
from tests.integration.bed.wire import Wire


def as_it_is(wire: Wire) -> None:
    pass


@pytest.mark.parametrize("first", [as_it_is, Wire.cut, Wire.refuse])
def test_it_ends_while_somebody_connects(first: Callable[[Wire], None]) -> None:
    """As a site does that dials again and again. What is left open complains when it is collected."""
    with Array() as far:
        for _ in range(20):
            with Wire(far.address) as wire, socket.create_connection(wire.address):
                first(wire)
        gc.collect()
