"""What a window allows, whatever the line: throughput of one TCP connection = window / round trip.

The table is that of the array's makers (EqualLogic auto-replication tuning, firmware 7). Its figures come out, within
5 %, when KB and MB are powers of 1000 and its "latency" is what the window is divided by, that is, the round trip. With
powers of 1024 they are off by up to 7 %, with a latency of one way by a factor of two. The same paper elsewhere gives
one-way latency; a line of 50 ms one way has a round trip of 100 ms, and half of what the last column says.
"""

WINDOWS = (72_000, 1_000_000, 2_000_000)
"""Bytes: the array's default, the size that the paper tested, and the array's maximum."""
ROUND_TRIPS = (0.001, 0.020, 0.050)
"""Seconds."""


def window_rate(window: int, round_trip: float) -> float:
    """Bits a second of one connection, at most."""
    return window * 8 / round_trip


def table() -> tuple[tuple[float, ...], ...]:
    """Bits a second: a row for each of `WINDOWS`, a column for each of `ROUND_TRIPS`."""
    return tuple(tuple(window_rate(window, round_trip) for round_trip in ROUND_TRIPS) for window in WINDOWS)
