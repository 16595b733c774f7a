"""What makes the line: the kernel's netem where there is one, otherwise a process for each way over TUN devices."""

import json
import os
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import asdict
from random import Random
from typing import Any, Protocol

from bench.wan import namespaces
from bench.wan.carrier import MESSAGE_BYTES, Carrier
from bench.wan.errors import WanFailure
from bench.wan.model import Model
from bench.wan.netem import NetemBackend, unable
from bench.wan.netem import lacking as lacking_netem
from bench.wan.settings import OTHER, WAYS, Line


class Backend(Protocol):
    """A line between two namespaces that exist. Everything may raise WanFailure."""

    name: str
    """tun or netem."""

    def set(self, line: Line) -> None:
        """Change the settings; the MTU stays as it is."""

    def outage(self, ways: tuple[str, ...], out: bool) -> None:
        """The ways go out, or come back."""

    def stats(self) -> dict[str, dict[str, Any]]:
        """Counters by way, with the names of `bench.wan.stats`."""

    def watched(self) -> list[socket.socket]:
        """Sockets that become readable only if the line fails."""

    def close(self) -> None:
        """Take the line down. May be called again."""


class TunBackend:
    """A line over TUN devices. A process of its own carries the packets of each way: two cores, no common lock."""

    name = "tun"

    def __init__(self, ends: dict[str, int], line: Line, seed: int | None, overrun: Callable[[str], int]) -> None:
        """`ends`: descriptors of TUN devices that are up, east and west; they are the caller's to close.

        `overrun`: gives the packets that the interface at an end dropped because nobody fetched them in time.
        """
        self._overrun = overrun
        self._controls: dict[str, socket.socket] = {}
        self._processes: list[int] = []
        for number, name in enumerate(WAYS):
            model = Model(line.way(name), line.mtu, Random(None if seed is None else seed + number))
            self._start(name, model, ends[OTHER[name]], ends[name])

    def set(self, line: Line) -> None:
        for name in WAYS:
            self._ask(name, {"way": asdict(line.way(name))})

    def outage(self, ways: tuple[str, ...], out: bool) -> None:
        for name in ways:
            self._ask(name, {"out": out})

    def stats(self) -> dict[str, dict[str, Any]]:
        return {name: self._ask(name, {}) | {"overrun": self._overrun(OTHER[name])} for name in WAYS}

    def watched(self) -> list[socket.socket]:
        return list(self._controls.values())

    def close(self) -> None:
        for control in self._controls.values():
            control.close()
        for process in self._processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        self._controls, self._processes = {}, []

    def _start(self, name: str, model: Model, source: int, target: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = os.fork()
        if process:
            theirs.close()
            ours.settimeout(30)
            self._controls[name] = ours
            self._processes.append(process)
            return
        code = 1
        try:
            for other in [ours, *self._controls.values()]:
                other.close()
            Carrier(model, source, target, theirs).run()
            code = 0
        except Exception:
            traceback.print_exc()  # a defect: it has to be seen somewhere
        finally:
            os._exit(code)

    def _ask(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self._controls[name].send(json.dumps(request).encode())
            answer = self._controls[name].recv(MESSAGE_BYTES)
        except TimeoutError:
            raise WanFailure(f"the process that carries packets toward {name} does not answer") from None
        except OSError:
            answer = b""
        if not answer:
            raise WanFailure(f"the process that carries packets toward {name} has ended")
        stats: dict[str, Any] = json.loads(answer)
        return stats


def join(names: dict[str, str], line: Line, seed: int | None, kind: str) -> Backend:
    """A line between these namespaces, which exist. `kind`: netem, tun, or auto: netem if it can do this line, else
    tun."""
    missing = lacking_netem(names["east"]) if kind in ("netem", "auto") else "not wanted"
    if kind == "netem" and missing:
        raise WanFailure(f"this kernel has no netem; choose the backend tun ({missing})")
    if kind == "netem" or (not missing and not unable(line)):
        return NetemBackend(names, line)
    if reason := namespaces.lacking_tun():
        raise WanFailure(f"the line needs netem or TUN devices, and there is neither: {reason}")
    return _over_tun(names, line, seed)


def _over_tun(names: dict[str, str], line: Line, seed: int | None) -> TunBackend:
    ends = {end: namespaces.open_tun(names[end]) for end in names}
    try:
        for end, address in namespaces.ADDRESSES.items():
            namespaces.bring_up(names[end], address, line.mtu)
        return TunBackend(ends, line, seed, lambda end: namespaces.dropped(names[end]))
    finally:
        for descriptor in ends.values():
            os.close(descriptor)
