"""What is asked of the kernel, and whether it has done so."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import uvloop

from proxy.net.sockets import (
    BBR,
    begin_bbr_anew,
    choose_congestion_control,
    congestion_control,
    limit_pace,
    make_room,
    mark_packets,
    notice_absence,
)
from proxy.net.tcpinfo import Sending, bbr_info, reset_error, sending, tcp_info
from tests.patience import eventually
from tests.unit.net.tcp import tcp_pair

SIZE = 1 << 20


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with tcp_pair() as (near, _):
        yield near


def test_there_is_room_and_a_single_byte_is_still_told_of(connection: socket.socket) -> None:
    make_room(connection, SIZE)
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= SIZE
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1


def test_a_socket_that_has_no_such_thing_stays_as_it_is() -> None:
    near, far = socket.socketpair()
    with near, far:
        make_room(near, SIZE)
        far.send(b"x")
        assert near.recv(10) == b"x"


def test_a_closed_connection_is_no_error(connection: socket.socket) -> None:
    connection.close()
    make_room(connection, SIZE)


def test_an_array_that_is_no_more_is_noticed_within_minutes(connection: socket.socket) -> None:
    notice_absence(connection)
    asked = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    idle, apart, times = (connection.getsockopt(socket.IPPROTO_TCP, option) for option in asked)
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert 60 <= idle + apart * times <= 180
    connection.close()
    notice_absence(connection)


async def ended(address: tuple[str, int]) -> socket.socket:
    """What the loop gives out for a connection that has ended."""
    transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, *address)
    found: socket.socket = transport.get_extra_info("socket")
    transport.abort()
    await eventually(lambda: found.fileno() < 0, 0.0)
    return found


def test_a_connection_that_the_loop_has_closed_tells_nothing_and_takes_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = uvloop.run(ended(listener.getsockname()))
    assert (bbr_info(found), tcp_info(found), reset_error(found), sending(found)) == (None, None, 0, Sending())
    assert (choose_congestion_control(found, BBR), begin_bbr_anew(found)) == ("", "")
    limit_pace(found, None)
    mark_packets(found, 46)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_packets_are_marked_whichever_way_the_address_is_written(host: str) -> None:
    """Those to an address of IPv4 that is written as one of IPv6 were not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sent_as = socket.AF_INET6 if host == "::1" else socket.AF_INET
    try:
        listener = socket.create_server((host.removeprefix("::ffff:"), 0), family=sent_as)
    except OSError as error:
        pytest.skip(f"no such address here: {error}")
    with listener, socket.socket(family) as near:
        near.connect((host, listener.getsockname()[1]))
        mark_packets(near, 46)
        ipv6 = socket.IPPROTO_IPV6, socket.IPV6_TCLASS
        option = ipv6 if sent_as == socket.AF_INET6 else (socket.IPPROTO_IP, socket.IP_TOS)
        assert near.getsockopt(*option) == 46 << 2


@pytest.mark.parametrize(("twice", "lost"), [(0, 5), (3, 2), (5, 0), (6, 0)])
def test_a_packet_that_came_twice_was_not_lost(twice: int, lost: int) -> None:
    class Kernel:
        """Answers as Linux does, struct tcp_info: tcpi_total_retrans and tcpi_dsack_dups."""

        def getsockopt(self, level: int, option: int, length: int) -> bytes:
            return (bytes(100) + struct.pack("=I", 5) + bytes(112) + struct.pack("=I", twice) + bytes(20))[:length]

    info = tcp_info(cast(socket.socket, Kernel()))
    assert info is not None
    assert info.packets_lost == lost


@pytest.mark.parametrize(
    ("wanted", "offered", "found"),
    [
        ("auto", "reno bbr cubic", "bbr"),
        ("auto", "reno cubic", "cubic"),
        ("reno", "reno bbr cubic", "reno"),
        ("nothing", "reno cubic", "nothing"),
    ],
)
def test_auto_is_bbr_or_else_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, offered: str, found: str
) -> None:
    monkeypatch.setattr("proxy.net.sockets._SYSCTL", tmp_path)
    assert congestion_control("auto") == "", "nothing says what there is"
    (tmp_path / "tcp_available_congestion_control").write_text(f"{offered}\n")
    (tmp_path / "tcp_congestion_control").write_text("cubic\n")
    assert congestion_control(wanted) == found
