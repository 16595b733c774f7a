"""Figures as an operator reads them, to three digits and without exponents; and how long "soon" and "of late" are.

(`proxy.config.units` has sizes, rates and durations as an operator writes them, exactly; js/format.js has the same as
here for the page.)
"""

ENDS_SOON = 30 * 86400.0
"""Seconds before its end from which on a certificate needs a successor: made, carried over and compared."""
A_WHILE = 600.0
"""Seconds for which what has happened goes on counting: "in the last ten minutes"."""


def size(value: float) -> str:
    """Bytes: 1.5 GiB."""
    if abs(value) < 1000:
        return f"{value:.0f} B"
    return _scaled(value / 1024, 1024, "KiB", "MiB", "GiB", "TiB")


def decimal_size(value: float) -> str:
    """Bytes as makers of arrays and lines count them: 2.3 GB."""
    return _scaled(value, 1000, "B", "KB", "MB", "GB", "TB")


def rate(value: float) -> str:
    """Bits a second: 43.4 Mbit/s."""
    return _scaled(value, 1000, "bit/s", "kbit/s", "Mbit/s", "Gbit/s")


def byte_rate(value: float) -> str:
    """Bytes a second: 12.3 MB/s."""
    return f"{three(value / 1e6)} MB/s"


def milliseconds(seconds: float) -> str:
    """0.42 ms"""
    return f"{three(seconds * 1000)} ms"


def remaining(seconds: float) -> str:
    """How long something still lasts, never rounded up: 29 days, 21 h, 40 min, 8 s."""
    for span, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * span:
            return f"{seconds // span:.0f} {unit}"
    return f"{seconds // 1:.0f} s"


def three(value: float) -> str:
    """Three digits: 0.0123, 12.3, 1,234."""
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else "0"


def _scaled(value: float, step: int, *units: str) -> str:
    *smaller, largest = units
    for unit in smaller:
        if abs(value) < 999.5:
            return f"{three(value)} {unit}"
        value /= step
    return f"{three(value)} {largest}"
