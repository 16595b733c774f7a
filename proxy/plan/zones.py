"""Will a faster line help? Where each guest write waits for its replica, by what is written.

The zones are those of a maker of synchronous replication (Stratus Avance, 1 Gb against 10 Gb): added latency costs most
where writes are small, so a faster line gains where there is much to write, in large pieces.
"""

from enum import Enum

UNLIKELY_RATE, LIKELY_RATE = 35_000_000, 50_000_000
"""Bytes a second, summed over all writers."""
UNLIKELY_SIZE, LIKELY_SIZE = 8_000, 16 << 10
"""Bytes of a write, on average. The paper says 8 KB and 16 KB; both are between, whichever KB is meant."""


class Zone(Enum):
    """What a faster line would do."""

    UNLIKELY = "unlikely to help"
    PERHAPS = "may help"
    LIKELY = "likely to help"

    @property
    def colour(self) -> str:
        """As the paper paints it."""
        return {Zone.UNLIKELY: "green", Zone.PERHAPS: "yellow", Zone.LIKELY: "red"}[self]


def by_rate(rate: float) -> Zone:
    """By the sum of write throughput, bytes a second."""
    return _zone(rate, UNLIKELY_RATE, LIKELY_RATE)


def by_size(size: float) -> Zone:
    """By the average size of a write, bytes."""
    return _zone(size, UNLIKELY_SIZE, LIKELY_SIZE)


def together(rate: Zone, size: Zone) -> Zone:
    """What both figures say: much has to be written, and in large pieces, before a faster line gains."""
    order = list(Zone)
    return min(rate, size, key=order.index)


def _zone(figure: float, unlikely_below: float, likely_above: float) -> Zone:
    if figure < unlikely_below:
        return Zone.UNLIKELY
    return Zone.LIKELY if figure > likely_above else Zone.PERHAPS
