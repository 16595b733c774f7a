"""Figures as an operator reads them: three digits, no exponent, and the unit that suits them."""

from collections.abc import Callable

import pytest

from proxy.figures import byte_rate, decimal_size, milliseconds, rate, remaining, size

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40


@pytest.mark.parametrize(
    ("show", "value", "text"),
    [
        (size, 0, "0 B"),
        (size, 999, "999 B"),
        (size, 1023, "0.999 KiB"),
        (size, 1024, "1 KiB"),
        (size, 1.5 * GIB, "1.5 GiB"),
        (size, 999.4 * MIB, "999 MiB"),
        (size, 1000 * MIB, "0.977 GiB"),
        (size, 3 * TIB, "3 TiB"),
        (size, 12345 * TIB, "12,345 TiB"),
        (size, -1.5 * MIB, "-1.5 MiB"),
        (decimal_size, 2.3e9, "2.3 GB"),
        (decimal_size, 999.4e12, "999 TB"),
        (decimal_size, 999.6e12, "1,000 TB"),
        (rate, 0, "0 bit/s"),
        (rate, 1, "1 bit/s"),
        (rate, 9.6e3, "9.6 kbit/s"),
        (rate, 45e6, "45 Mbit/s"),
        (rate, 999.6e6, "1 Gbit/s"),
        (rate, 999.6e9, "1,000 Gbit/s"),
        (byte_rate, 12.34e6, "12.3 MB/s"),
        (byte_rate, 0.1, "0 MB/s"),
        (byte_rate, 1.2346e9, "1,235 MB/s"),
        (milliseconds, 0.1, "100 ms"),
        (milliseconds, 0.00042, "0.42 ms"),
        (milliseconds, 1e-8, "0 ms"),
        (milliseconds, 2.5231, "2,523 ms"),
    ],
)
def test_figures(show: Callable[[float], str], value: float, text: str) -> None:
    assert show(value) == text


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (30 * 86400 - 1, "29 days"),
        (2 * 86400, "2 days"),
        (2 * 86400 - 1, "47 h"),
        (21.9 * 3600, "21 h"),
        (2 * 3600 - 1, "119 min"),
        (119.9, "119 s"),
        (0.5, "0 s"),
    ],
)
def test_what_ends_tomorrow_does_not_end_in_0_days(seconds: float, shown: str) -> None:
    assert remaining(seconds) == shown
