"""Figures and commands as an operator reads them."""

import subprocess
from collections.abc import Callable

import pytest

from proxy.cli import cells
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


def test_a_command_writes_one_setting_a_line() -> None:
    write, _, apply = sysctl("a = 1 2", "b = 3").partition(" >> /etc/sysctl.d/91-isthmus-local.conf; ")
    assert apply == "sysctl --system"
    written = subprocess.run(["sh", "-c", write], capture_output=True, text=True, check=True).stdout
    assert written == "a = 1 2\nb = 3\n"
