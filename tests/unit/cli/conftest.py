"""The command line as a test types it, the contract's pair of sites, and a site that only answers for its status."""

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from proxy.cli.commands import root
from proxy.identity import generate
from tests.patience import PATIENCE
from tests.unit.config.contract import EAST, WEST

Isthmus = Callable[..., Result]
NO_TOKEN = {"error": "a token is needed", "remedy": "send Authorization"}
"""What a site answers then."""
PROGRAM = sys.executable, "-m", "proxy.cli"
"""As a shell would start it, in a process of its own."""
OUTLINE = "/api/v1/status?streams=none"
"""What is asked for where streams do not matter."""


@pytest.fixture
def isthmus() -> Isthmus:
    """Runs a command line within this process; `keyboard` is what is typed when it asks."""

    def run(*arguments: object, keyboard: str | None = None) -> Result:
        return CliRunner().invoke(root, [str(argument) for argument in arguments], input=keyboard)

    return run


@pytest.fixture
def pair(tmp_path: Path, free_port: Callable[[], int]) -> Path:
    """east.toml and west.toml with their keys; the status ports are free ones."""
    for site, text, port in (("east", EAST, "8900"), ("west", WEST, "8901")):
        generate(site, tmp_path)
        (tmp_path / f"{site}.toml").write_text(text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{free_port()}"))
    return tmp_path


@pytest.fixture
def local_pair(pair: Path, free_port: Callable[[], int]) -> Path:
    """The pair with addresses of this host, where nobody listens, and with small stores."""
    for site in ("east", "west"):
        config = pair / f"{site}.toml"
        text = config.read_text().replace("10GiB", "64MiB").replace("2GiB", "64MiB")
        for address in ("198.18.0.1:4500", "198.18.0.2:4500", "127.0.0.1:3260"):
            text = text.replace(address, f"127.0.0.1:{free_port()}")
        config.write_text(text)
    return pair


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written does not find room."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)


def change(file: Path, before: str, after: str) -> None:
    """In the text of a file."""
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def line_of(shown: str) -> str:
    """What follows `isthmus pair` in the output, but for the file's name."""
    (typed,) = [line for line in shown.splitlines() if line.startswith("isthmus pair ")]
    return typed.split()[2]


def status_port(config: Path) -> int:
    """On which the site is asked for its status."""
    return int(config.read_text().split('[status]\nlisten = "127.0.0.1:')[1].split('"')[0])


class StatusSite:
    """Answers every request at a site's status listener with what it was given."""

    def __init__(self, config: Path) -> None:
        self.paths: list[str] = []
        self.tokens: list[str | None] = []
        """What was shown with each."""
        self.status = 200
        self.body = b"{}"
        self.known: tuple[str, ...] | None = None
        """Paths; all others are not found. None: all are answered."""
        self.unknown = 404
        """With that status."""
        self.most: int | None = None
        """The greatest `limit`; what asks for more is refused. None: there is none."""
        self.earlier = False
        """It does not know that a status can be without streams, and refuses that."""
        self.refusal: tuple[bytes, int] | None = None
        """What is answered to who wants it to do something. None: as to all others."""
        self.takes = 0.0
        """Seconds to do something."""
        self.hold: threading.Event | None = None
        """Nothing is answered before that."""
        self._server = ThreadingHTTPServer(("127.0.0.1", status_port(config)), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def answers(self, body: bytes | dict[str, Any], status: int = 200) -> None:
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status

    def wants_a_token(self) -> None:
        """Of who is to make it do something, and does not show the right one."""
        self.refusal = json.dumps(NO_TOKEN).encode(), 401

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.paths.append(self.path)
                site.tokens.append(self.headers.get("Authorization"))
                if site.hold is not None:
                    site.hold.wait(PATIENCE)
                limit = int(self.path.partition("limit=")[2] or 0)
                refused = site.most is not None and limit > site.most
                refused = refused or (site.earlier and "streams=" in self.path)
                found = site.known is None or self.path in site.known
                self.send_response(400 if refused else site.status if found else site.unknown)
                self.end_headers()
                self.wfile.write(b'{"error": "no such parameter, or too much"}' if refused else site.body)

            def do_POST(self) -> None:
                time.sleep(site.takes)
                if site.refusal is None:
                    self.do_GET()
                    return
                self.send_response(site.refusal[1])
                self.end_headers()
                self.wfile.write(site.refusal[0])

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


@pytest.fixture
def east(pair: Path) -> Iterator[StatusSite]:
    with closing(StatusSite(pair / "east.toml")) as site:
        yield site
