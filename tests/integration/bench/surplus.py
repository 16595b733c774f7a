"""A wire that adds a byte behind the last one."""

from bench.sites import Address
from tests.integration.bed.wire import Wire


class Surplus(Wire):
    """A context manager, as every wire."""

    def __init__(self, far: Address, after: int, outward: bool = True) -> None:
        """`after` so many bytes of one way."""
        super().__init__(far)
        self._left = after
        self._outward = outward

    def touch(self, data: bytes, outward: bool) -> bytes:
        if outward is not self._outward:
            return data
        self._left -= len(data)
        return data if self._left else data + b"x"
