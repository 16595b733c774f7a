"""The process that keeps a line: makes the namespaces and what joins them, obeys, and removes all of it at its end.

Standard input is a socket to the process that started this one; its argument is a `Task` in JSON. The first message
says that the line is up, or why not. Then each request is answered, in JSON, with {"answer": ...} or {"error": ...}.
Without `Task.path` the line ends with that socket; with it, the process listens there until it is told to end.
"""

import contextlib
import json
import select
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from bench.wan import namespaces
from bench.wan.backend import Backend, join
from bench.wan.carrier import MESSAGE_BYTES
from bench.wan.errors import WanFailure
from bench.wan.settings import Line, chosen
from bench.wan.task import Task


class Keeper:
    """Answers requests about the line, and carries them out."""

    def __init__(self, backend: Backend, line: Line) -> None:
        self._backend, self._line = backend, line

    def run(self, starter: socket.socket, listener: socket.socket | None) -> None:
        """Serve until told to end; without a listener, until the starter ends. Raises WanFailure if the line fails."""
        talks = [starter]
        while True:
            watched = self._backend.watched()
            readable, _, _ = select.select([*talks, *watched, *([listener] if listener else [])], [], [])
            if any(each in watched for each in readable):
                raise WanFailure("a process that carries packets has ended")
            for each in readable:
                if each is listener:
                    talks.append(listener.accept()[0])
                elif not self._hear(each):
                    if each is starter and listener is None:
                        return
                    talks.remove(each)
                    each.close()

    def _hear(self, talk: socket.socket) -> bool:
        """Receive and answer one request; False if there will be no more."""
        try:
            message = talk.recv(MESSAGE_BYTES)
            if not message:
                return False
            _say(talk, self._answer(json.loads(message)))
        except OSError:  # the other side has gone
            return False
        return True

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            match request["do"]:
                case "set":
                    changed = self._line.changed(request["toward"], **request["texts"])
                    self._backend.set(changed)
                    self._line = changed
                case "outage":
                    self._backend.outage(chosen(request["toward"]), request["out"])
                case "stats":
                    return {"answer": self._backend.stats()}
                case "down":
                    sys.exit()
        except WanFailure as error:
            return {"error": str(error)}
        return {"answer": self.shown()}

    def shown(self) -> dict[str, Any]:
        """The backend and the settings of this line."""
        return {"backend": self._backend.name, "line": self._line.as_dict()}


@contextlib.contextmanager
def _joined(task: Task, line: Line) -> Iterator[Backend]:
    """The namespaces and the backend between them."""
    names = namespaces.names(task.prefix)
    for name in names.values():
        if namespaces.exists(name):
            raise WanFailure(f"there is a network namespace {name} already; take it down, or choose another prefix")
    try:
        for name in names.values():
            namespaces.add(name)
        backend = join(names, line, task.seed, task.backend)
        try:
            yield backend
        finally:
            backend.close()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for name in names.values():
            namespaces.remove(name)


@contextlib.contextmanager
def _listening(path: str) -> Iterator[socket.socket | None]:
    if not path:
        yield None
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        try:
            listener.listen()
            yield listener
        finally:
            Path(path).unlink(missing_ok=True)


def _say(talk: socket.socket, message: dict[str, Any]) -> None:
    talk.send(json.dumps(message).encode())


def main() -> None:
    """Keep the line of the task on the command line. Exits with 1 after a failure, which stderr and the starter see."""
    signal.signal(signal.SIGTERM, _end)
    task = Task(**json.loads(sys.argv[1]))
    starter = socket.socket(fileno=0)
    try:
        line = Line.from_dict(task.line)
        with _listening(task.path) as listener, _joined(task, line) as backend:
            keeper = Keeper(backend, line)
            _say(starter, {"answer": keeper.shown()})
            keeper.run(starter, listener)
    except WanFailure as error:
        with contextlib.suppress(OSError):
            _say(starter, {"error": str(error)})
        sys.exit(f"isthmus wan: {error}")


def _end(*_: object) -> NoReturn:
    sys.exit()


if __name__ == "__main__":
    main()
