"""Asking a status listener: one connection, kept as long as the listener keeps it; the token that is to be shown."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from proxy.config.loading import parse
from proxy.config.model import SiteConfig
from proxy.identity import IdentityFault
from proxy.net.holders import holders
from proxy.net.inquiry import Inquiry, find_token
from tests.patience import PATIENCE
from tests.unit.config.contract import EAST

STRANGER = 65534
PAUSE = 0.01
"""Seconds between two bytes of an answer that never ends; 80 of them are waited for all of it (WHOLE)."""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Listener:
    """Answers so many requests of each connection, then ends it."""

    def __init__(self, answers: int) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._answers = answers
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE)

    def belong_to(self, user: int) -> None:
        os.fchown(self._socket.fileno(), user, -1)

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                connection.settimeout(PATIENCE)
                for _ in range(self._answers):
                    request = connection.recv(4096)
                    if not request:
                        break
                    self.requests.append(request)
                    connection.sendall(ANSWER)


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener(2)
    yield listener
    listener.close()


def site(listen: str, more: str = "", directory: Path = Path()) -> SiteConfig:
    text = EAST.replace('listen = "127.0.0.1:8900"', f'listen = "{listen}"\n{more}')
    return parse(text.encode(), directory / "east.toml", files=False)


def with_tokens(listener: Listener, directory: Path) -> SiteConfig:
    """A site with both tokens, in files of their names."""
    for name in ("reading", "control"):
        (directory / name).write_text(f"{name}-0123456789abcdef\n")
        (directory / name).chmod(0o600)
    return site(f"127.0.0.1:{listener.port}", 'token = "reading"\ncontrol_token = "control"\n', directory)


def test_a_connection_that_was_ended_meanwhile_is_made_anew(listener: Listener) -> None:
    with Inquiry(site(f"127.0.0.1:{listener.port}"), PATIENCE) as inquiry:
        for _ in range(5):
            assert inquiry.ask("/healthz")[1] == b"ok"
    assert listener.connections == 3
    assert all(request.startswith(b"GET /healthz HTTP/1.1\r\n") for request in listener.requests)


def test_a_listener_on_all_addresses_is_asked_on_loopback(listener: Listener) -> None:
    more = 'certificate = "c"\nkey = "k"\ntoken = "t"\n'
    config = site(f"0.0.0.0:{listener.port}", more)
    plain = config.model_copy(update={"status": config.status.model_copy(update={"certificate": None})})
    with Inquiry(plain, PATIENCE) as inquiry:
        assert inquiry.ask("/")[1] == b"ok"
    assert f"Host: 127.0.0.1:{listener.port}\r\n".encode() in listener.requests[0]


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Inquiry(site(f"127.0.0.1:{port}"), PATIENCE) as inquiry, pytest.raises(ConnectionRefusedError):
        inquiry.ask("/")


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"], ids=["head", "body"])
def test_an_answer_that_never_ends_is_not_waited_for(said: bytes) -> None:
    """While the site does not run anybody may hold its port, and say one byte after the other."""
    over = threading.Event()

    def speak(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(said)
            while not over.wait(PAUSE):
                connection.sendall(b"H")

    with socket.create_server(("127.0.0.1", 0)) as stranger:
        thread = threading.Thread(target=speak, args=(stranger,), daemon=True)
        thread.start()
        try:
            timeout = 20 * PAUSE
            config = site(f"127.0.0.1:{stranger.getsockname()[1]}")
            with Inquiry(config, timeout) as inquiry, pytest.raises(TimeoutError):
                inquiry.ask("/")
        finally:
            over.set()
            thread.join(PATIENCE)


def test_which_token_is_shown(listener: Listener, tmp_path: Path) -> None:
    config = with_tokens(listener, tmp_path)
    with Inquiry(config, PATIENCE) as inquiry:
        inquiry.ask("/")
        inquiry.ask("/", "POST", control=True)
    shown = [b"Authorization: Bearer " + name + b"-0123456789abcdef\r\n" for name in (b"reading", b"control")]
    assert all(header in request for header, request in zip(shown, listener.requests, strict=True))
    (tmp_path / "reading").chmod(0o644)
    found = find_token(config.status, control=False)
    assert found == (tmp_path / "control", "control-0123456789abcdef"), "what may do more may read, too"
    (tmp_path / "control").unlink()
    with Inquiry(config, PATIENCE) as inquiry, pytest.raises(IdentityFault, match="control does not exist"):
        inquiry.ask("/", "POST", control=True)
    assert find_token(config.status, control=False) is None


@pytest.mark.root
@pytest.mark.parametrize("control", [False, True])
def test_no_token_for_another_user_who_holds_the_port(listener: Listener, tmp_path: Path, control: bool) -> None:
    """While the site does not run, any local user may listen at its port."""
    config = with_tokens(listener, tmp_path)
    listener.belong_to(STRANGER)
    with Inquiry(config, PATIENCE) as inquiry, pytest.raises(OSError, match=f"user {STRANGER} listens there, not root"):
        inquiry.ask("/", "POST", control=control)
    assert not listener.requests
    for name in ("reading", "control"):
        os.chown(tmp_path / name, STRANGER, -1)
    with Inquiry(config, PATIENCE) as inquiry:
        inquiry.ask("/", "POST", control=control)
    assert len(listener.requests) == 1


def test_no_token_where_the_host_does_not_tell_who_holds_the_port(
    listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without /proc. It was said that nobody listens, though somebody had taken the connection."""
    config = with_tokens(listener, tmp_path)
    monkeypatch.setattr("proxy.net.inquiry.holders", partial(holders, tables=tmp_path / "none"))
    with Inquiry(config, PATIENCE) as inquiry, pytest.raises(OSError, match="is /proc mounted"):
        inquiry.ask("/")
    assert not listener.requests
