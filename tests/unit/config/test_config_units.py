"""Quantities and addresses: what they mean exactly, what is refused."""

import pytest

from proxy.config.addresses import Address, parse_address, parse_listen
from proxy.config.units import parse_duration, parse_rate, parse_size, show_duration, show_rate, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0B", 0),
        ("1B", 1),
        ("256KiB", 262_144),
        ("10GiB", 10_737_418_240),
        ("1TiB", 1_099_511_627_776),
        ("1.5GB", 1_500_000_000),
        ("1kB", 1000),
        ("1KB", 1000),
        ("0.5KiB", 512),
        ("007MB", 7_000_000),
        ("1152921504606846976B", 1 << 60),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "rate"), [("45Mbit", 45_000_000), ("1.5Gbit", 1_500_000_000), ("8bit", 8), ("64kbit", 64_000)]
)
def test_rates_are_bits_a_second(text: str, rate: int) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30.0), ("500ms", 0.5), ("2m", 120.0), ("1h", 3600.0), ("1.5m", 90.0), ("0s", 0.0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


WRONG = [
    "",
    "1",
    "KiB",
    "1 KiB",
    " 1KiB",
    "1KiB\n",
    "1KiB ",
    "-1B",
    "+1B",
    "1e3B",
    "1,5GB",
    ".5GB",
    "1.GB",
    "٣GB",
    "1kib",
]


@pytest.mark.parametrize("text", [*WRONG, "1.5B", "2000000TiB", "1Mbit", "1s", "9" * 20 + "B"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is "):
        parse_size(text)


@pytest.mark.parametrize("text", [*WRONG, "1.5bit", "1MB", "45MBit", "45Mbps"])
def test_no_rates(text: str) -> None:
    with pytest.raises(ValueError, match="is "):
        parse_rate(text)


@pytest.mark.parametrize("text", [*WRONG, "0.5ms", "1M", "400d", "1min", "1S"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is "):
        parse_duration(text)


def test_quantities_are_shown_in_the_largest_unit_that_fits() -> None:
    assert [show_size(size) for size in (0, 1, 1024, 1000, 1536, 10 << 30)] == [
        "0B",
        "1B",
        "1KiB",
        "1kB",
        "1536B",
        "10GiB",
    ]
    assert [show_duration(seconds) for seconds in (0, 0.5, 90, 120, 86400)] == ["0s", "500ms", "90s", "2m", "1d"]
    assert [show_rate(rate) for rate in (0, 1500, 45_000_000)] == ["0bit", "1500bit", "45Mbit"]


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("198.18.0.1:4500", "198.18.0.1", 4500, "198.18.0.1:4500"),
        ("[::1]:3260", "::1", 3260, "[::1]:3260"),
        ("[2001:DB8:0::1]:1", "2001:db8::1", 1, "[2001:db8::1]:1"),
        ("[fe80::1%eth0]:65535", "fe80::1%eth0", 65535, "[fe80::1%eth0]:65535"),
        ("host.example:3260", "host.example", 3260, "host.example:3260"),
        ("host.example.:3260", "host.example.", 3260, "host.example.:3260"),
        ("my_host-1:80", "my_host-1", 80, "my_host-1:80"),
    ],
)
def test_addresses(text: str, host: str, port: int, shown: str) -> None:
    address = parse_address(text)
    assert address == Address(host, port)
    assert str(address) == shown


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "not a host and a port"),
        ("host", "not a host and a port"),
        (":4500", "not a host and a port"),
        ("host:", "no port"),
        ("host:0", "no port"),
        ("host:65536", "no port"),
        ("host:٣", "no port"),
        ("host: 80", "no port"),
        ("host:+80", "no port"),
        ("::1:4500", "IPv6 address without brackets"),
        ("a:b:4500", "not a host and a port"),
        ("[::1]", "no port"),
        ("[127.0.0.1]:80", "no IPv6 address within the brackets"),
        ("[host]:80", "no IPv6 address within the brackets"),
        ("[]:80", "no IPv6 address within the brackets"),
        ("[fe80::1%\x1b]0;x\x07]:80", "no IPv6 address within the brackets"),
        ("[fe80::1%]:80", "no IPv6 address within the brackets"),
        ("1.2.3:80", "no valid host"),
        ("1.2.3.4.5:80", "no valid host"),
        ("256.1.1.1:80", "no valid host"),
        ("-host:80", "no valid host"),
        ("a..b:80", "no valid host"),
        ("host/path:80", "no valid host"),
        ("http://host:80", "not a host and a port"),
        ("user@host:80", "no valid host"),
        ("hôst:80", "no valid host"),
        (f"{'a' * 64}:80", "no valid host"),
        (f"{'a.' * 127}a:80", "no valid host"),
    ],
)
def test_no_addresses(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse_address(text)


def test_what_is_listened_at_is_an_ip_address() -> None:
    assert parse_listen("0.0.0.0:80") == Address("0.0.0.0", 80)
    assert parse_listen("[::]:80") == Address("::", 80)
    with pytest.raises(ValueError, match="is a name"):
        parse_listen("localhost:80")
