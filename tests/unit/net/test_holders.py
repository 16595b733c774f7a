"""Who holds a port: by the kernel's own tables, and by what they look like elsewhere."""

import os
import socket
import sys
from pathlib import Path

import pytest

from proxy.net.holders import holders

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LOOPBACK, ALL = "127.0.0.1", "0.0.0.0"


def entry(address: str, port: int, user: int, state: str = "0A") -> str:
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    words = [int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4)]
    local = "".join(f"{word:08X}" for word in words)
    return (
        f"   0: {local}:{port:04X} {'0' * len(local)}:0000 {state} 00000000:00000000 00:00000000 00000000 {user} 0 1\n"
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_port_of_this_process(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        port = listener.getsockname()[1]
        assert holders(address, port) == frozenset()
        listener.listen()
        assert holders(address, port) == {os.getuid()}


@pytest.mark.parametrize(
    ("ipv4", "ipv6", "asked", "found"),
    [
        ([(LOOPBACK, 7)], [], LOOPBACK, {7}),
        ([(LOOPBACK, 7), (ALL, 8)], [("::", 9)], LOOPBACK, {7}),
        ([(ALL, 8)], [("::", 9)], LOOPBACK, {8, 9}),
        ([], [("::", 9)], LOOPBACK, {9}),
        ([], [("::ffff:127.0.0.1", 9)], LOOPBACK, {9}),
        ([(LOOPBACK, 7)], [("::1", 9)], "::1", {9}),
        ([("127.0.0.2", 7)], [], LOOPBACK, set()),
    ],
)
def test_who_gets_a_connection(
    ipv4: list[tuple[str, int]], ipv6: list[tuple[str, int]], asked: str, found: set[int], tmp_path: Path
) -> None:
    for name, entries in (("tcp", ipv4), ("tcp6", ipv6)):
        others = entry(LOOPBACK, 8901, 1) + entry(LOOPBACK, 8900, 2, "01")
        (tmp_path / name).write_text(HEAD + others + "".join(entry(address, 8900, user) for address, user in entries))
    assert holders(asked, 8900, tmp_path) == found


def test_a_kernel_without_tables_knows_nobody(tmp_path: Path) -> None:
    assert holders(LOOPBACK, 8900, tmp_path) == frozenset()
