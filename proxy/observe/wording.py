"""Figures in sentences for operators: three digits and a unit."""


def bytes_a_second(rate: float) -> str:
    """12.3 MB/s"""
    return f"{_three(rate / 1e6)} MB/s"


def bits_a_second(rate: float) -> str:
    """43.1 Mbit/s, of bytes a second."""
    return f"{_three(rate * 8 / 1e6)} Mbit/s"


def milliseconds(seconds: float) -> str:
    """12.3 ms"""
    return f"{_three(seconds * 1e3)} ms"


def size(count: float) -> str:
    """64 MiB"""
    return f"{_three(count / (1 << 20))} MiB" if count >= 1 << 20 else f"{_three(count / 1024)} KiB"


def number_of_streams(count: int) -> str:
    """1 stream, 2 streams"""
    return f"{count} {'stream' if count == 1 else 'streams'}"


def _three(value: float) -> str:
    """Three figures, without an exponent."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}" if value >= 0.001 else "0"
