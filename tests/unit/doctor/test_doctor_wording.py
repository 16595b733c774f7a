"""Figures and commands as an operator reads them."""

import subprocess
from collections.abc import Callable

import pytest

from proxy.cli import cells
from proxy.cli.plan_report import decimal_size
from proxy.doctor.wording import milliseconds, rate, size, sysctl


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1000 << 20, "1,000 MiB"), (3 << 40, "3 TiB")],
)
def test_sizes(value: int, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(45e6, "45 Mbit/s"), (1e9, "1 Gbit/s"), (9.6e3, "9.6 kbit/s"), (1, "1 bit/s")]
)
def test_rates(value: float, text: str) -> None:
    assert rate(value) == text


@pytest.mark.parametrize("milliseconds", [milliseconds, cells.milliseconds], ids=["doctor", "status"])
@pytest.mark.parametrize(("value", "text"), [(0.1, "100 ms"), (0.00042, "0.42 ms"), (2.5231, "2,523 ms")])
def test_times(milliseconds: Callable[[float], str], value: float, text: str) -> None:
    assert milliseconds(value) == text


@pytest.mark.parametrize("size", [size, cells.size], ids=["doctor", "status"])
@pytest.mark.parametrize("unit", ["KiB", "MiB", "GiB", "TiB"])
def test_sizes_have_no_exponent(size: Callable[[int], str], unit: str) -> None:
    """Three figures of 999.6 are 1,000."""
    factor = 1024 ** (1 + ["KiB", "MiB", "GiB", "TiB"].index(unit))
    assert size(round(999.4 * factor)) == f"999 {unit}"
    assert "e+" not in size(round(999.6 * factor))


@pytest.mark.parametrize("rate", [rate, cells.rate], ids=["doctor", "status"])
@pytest.mark.parametrize("value", [999.6e3, 999.6e6, 999.6e9])
def test_rates_have_no_exponent(rate: Callable[[float], str], value: float) -> None:
    assert "e+" not in rate(value)


def test_sizes_that_makers_of_arrays_count_in_have_no_exponent() -> None:
    assert decimal_size(999.4e12) == "999 TB"
    assert decimal_size(999.6e12) == "1,000 TB"


def test_a_command_writes_one_setting_a_line() -> None:
    write, _, apply = sysctl("a = 1 2", "b = 3").partition(" >> /etc/sysctl.d/91-isthmus-local.conf; ")
    assert apply == "sysctl --system"
    written = subprocess.run(["sh", "-c", write], capture_output=True, text=True, check=True).stdout
    assert written == "a = 1 2\nb = 3\n"
