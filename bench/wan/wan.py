"""A line that is up, as tests, benches and the command `isthmus wan` use it."""

import contextlib
import json
import secrets
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.processes import own
from bench.sites import environment
from bench.wan import namespaces
from bench.wan.carrier import MESSAGE_BYTES
from bench.wan.errors import WanFailure
from bench.wan.settings import Line
from bench.wan.task import Task

PATIENCE = 60.0
"""Seconds after which an answer of the keeper is overdue."""


class Wan:
    """A line that is up. Usable from any thread. All methods may raise WanFailure."""

    def __init__(self, prefix: str, control: socket.socket) -> None:
        """`control`: the socket to the keeper."""
        self.namespaces = namespaces.names(prefix)
        """Names of the network namespaces east and west, as `ip netns` knows them."""
        self.addresses = dict(namespaces.ADDRESSES)
        """IPv4 addresses of the ends east and west; loopback works in both namespaces, too."""
        self._control = control
        self._lock = threading.Lock()

    def command(self, end: str) -> list[str]:
        """What to put before a command so that it runs at that end."""
        return ["ip", "netns", "exec", self.namespaces[end]]

    def inside(self, end: str) -> contextlib.AbstractContextManager[None]:
        """A context in which this thread is at that end.

        Sockets that it opens within it, and processes and threads that it starts, stay at that end for good.
        """
        return namespaces.inside(self.namespaces[end])

    def listens(self, end: str, port: int) -> bool:
        """Whether somebody there listens on that TCP port. Makes no connection: the listener may take only one."""
        return bool(namespaces.run([*self.command(end), "ss", "-Hltn", f"sport = :{port}"]).strip())

    def set(self, toward: str = "both", **texts: str) -> None:
        """Change settings, as in `Line.of`, of the way toward west, east or both, for packets sent from now on.

        Another rate also holds for packets that wait for it already.
        """
        self.ask({"do": "set", "toward": toward, "texts": texts})

    def outage(self, out: bool, toward: str = "both") -> None:
        """Begin an outage, in which packets toward west, east or both vanish, also those on their way; or end it."""
        self.ask({"do": "outage", "toward": toward, "out": out})

    def stats(self) -> dict[str, dict[str, Any]]:
        """Counters of the ways toward west and east since the line is up; their names: `bench.wan.stats`."""
        answer: dict[str, dict[str, Any]] = self.ask({"do": "stats"})
        return answer

    def ask(self, request: dict[str, Any]) -> Any:
        """Send a request to the keeper; its answer."""
        with self._lock:
            with contextlib.suppress(OSError):  # then there will be no answer either
                self._control.send(json.dumps(request).encode())
            return answer_on(self._control)


@contextlib.contextmanager
def line(settings: Line, *, prefix: str = "", seed: int | None = None, backend: str = "auto") -> Iterator[Wan]:
    """A line, for as long as the context lasts. Raises WanFailure where there can be none: see `namespaces.lacking`.

    `prefix`: beginning of the namespaces' names; by default a unique one. `seed`: of the random numbers, so that the
    same packets (by number, not by content) are lost each time; netem takes none. `backend`: see `Task`.
    """
    task = Task(prefix or f"wan-{secrets.token_hex(4)}", settings.as_dict(), seed, backend)
    keeper, control = start(task, None)
    try:
        with control:
            yield Wan(task.prefix, control)
    finally:
        _end(keeper)
        for name in namespaces.names(task.prefix).values():
            namespaces.remove(name)


def start(task: Task, log: Path | None) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a keeper and wait until its line is up; the process, and the socket to it.

    Its complaints go to `log`, or without one to stderr.
    """
    if reason := namespaces.lacking():
        raise WanFailure(f"no line can be emulated here: {reason}")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, contextlib.ExitStack() as stack:
        output = stack.enter_context(log.open("ab")) if log else None
        keeper = subprocess.Popen(
            own("bench.wan.keeper", task.to_json()),
            stdin=theirs.fileno(),
            stdout=output or subprocess.DEVNULL,
            stderr=output,
            env=environment(),
            start_new_session=True,  # an interrupt from the keyboard is for us alone
        )
    ours.settimeout(PATIENCE)
    try:
        answer_on(ours)
    except BaseException:
        ours.close()
        _end(keeper)
        raise
    return keeper, ours


def _end(keeper: subprocess.Popen[bytes]) -> None:
    keeper.terminate()
    try:
        keeper.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()


def answer_on(control: socket.socket) -> Any:
    """The keeper's next answer. Raises WanFailure if it is an error, or does not come."""
    try:
        message = control.recv(MESSAGE_BYTES)
    except TimeoutError:
        raise WanFailure(f"the line does not answer within {PATIENCE:.0f} s") from None
    except OSError:
        message = b""
    if not message:
        raise WanFailure("the line is gone: the process that kept it has ended")
    answer: dict[str, Any] = json.loads(message)
    if "error" in answer:
        raise WanFailure(answer["error"])
    return answer["answer"]
