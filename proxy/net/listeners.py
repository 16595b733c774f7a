"""A site's listening addresses, all of which are taken before anything else begins.

So a site that cannot have one of them has neither opened its store nor taken an array's connection.
"""

import errno
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from proxy.config.addresses import Address
from proxy.config.model import Forward, SiteConfig
from proxy.errors import ExitCode, OperatorError
from proxy.net.listener import BACKLOG, reserve
from proxy.net.loops import refuse_loops


@dataclass(slots=True)
class _Place:
    """An address that the configuration names."""

    what: str
    address: Address
    listener: socket.socket | None = None

    def reserve(self) -> str:
        """Bind a socket to the address. Returns what is wrong, or an empty text."""
        try:
            self.listener = reserve(self.address)
        except OSError as error:
            return unavailable(self.what, self.address, error)
        return ""

    def listen(self) -> str:
        """Let others connect. Returns what is wrong, or an empty text: another process may listen there by now."""
        assert self.listener is not None
        try:
            self.listener.listen(BACKLOG)
        except OSError as error:
            return unavailable(self.what, self.address, error)
        return ""


class Listeners:
    """Sockets that are bound; nobody can connect before `listen`. Whoever takes one of them closes it."""

    def __init__(self, config: SiteConfig) -> None:
        """Bind. Raises OperatorError naming each address that cannot be had, or each export that leads back here."""
        refuse_loops(config)
        self._tunnel = [_Place("tunnel.listen", config.tunnel.listen)] if config.tunnel.listen is not None else []
        self._forwards = _places(config.forwards)
        self._status = _Place("status.listen", config.status.listen)
        try:
            _raise_if_any([place.reserve() for place in (*self._tunnel, *self._forwards, self._status)])
        except OperatorError:
            self.close()
            raise

    @property
    def tunnel(self) -> socket.socket | None:
        """The socket for lanes from peers; None if the site only dials."""
        return self._tunnel[0].listener if self._tunnel else None

    @property
    def forwards(self) -> list[socket.socket]:
        """The forwards' sockets, in the order of the configuration."""
        return [place.listener for place in self._forwards if place.listener is not None]

    @property
    def status(self) -> socket.socket:
        """The status listener's socket, which `listen` leaves to whoever serves there."""
        assert self._status.listener is not None
        return self._status.listener

    def listen(self) -> None:
        """Let lanes and arrays connect. Raises OperatorError naming each address that cannot be had any more."""
        _raise_if_any([place.listen() for place in (*self._tunnel, *self._forwards)])

    def close(self) -> None:
        """Close all sockets."""
        _close((*self._tunnel, *self._forwards, self._status))


def listen_for(forwards: Iterable[Forward]) -> list[socket.socket]:
    """Listening sockets for more forwards, in their order. Raises OperatorError naming each address that cannot be
    had; then none is left open."""
    places = _places(forwards)
    try:
        _raise_if_any([place.reserve() or place.listen() for place in places])
    except OperatorError:
        _close(places)
        raise
    return [place.listener for place in places if place.listener is not None]


def unavailable(what: str, address: Address, error: OSError) -> str:
    """The message that an address cannot be had, and what to do. `what`: where the configuration names it."""
    remedies = {
        # Not -l: a port may also be that of a connection that a program has made.
        errno.EADDRINUSE: f"ss -tanp 'sport = :{address.port}' says by whom: stop that, or configure another address",
        errno.EADDRNOTAVAIL: "configure one that `ip address` lists on this host",
        errno.EACCES: "configure a port from 1024 on: those below are for root",
        errno.EMFILE: "raise LimitNOFILE of the systemd unit, ulimits of a container, or ulimit -n (isthmus doctor)",
    }
    remedy = remedies.get(error.errno or 0, "configure another address")
    return f"{what} = {address}: {error.strerror or error}; {remedy}"


def _places(forwards: Iterable[Forward]) -> list[_Place]:
    return [_Place(f"forward {each.name!r} listen", each.listen) for each in forwards]


def _close(places: Iterable[_Place]) -> None:
    for place in places:
        if place.listener is not None:
            place.listener.close()


def _raise_if_any(answers: list[str]) -> None:
    if problems := [answer for answer in answers if answer]:
        raise OperatorError("\n".join(problems), ExitCode.LISTEN)
