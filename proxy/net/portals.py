"""Finds where initiators at this site reach the portals that a peer's targets name: by configured forwards, or by
forwards that are opened on demand, and closed when they have not been used for a while.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence

from proxy.config.addresses import Address
from proxy.config.difference import leads_elsewhere
from proxy.config.model import Forward as ForwardConfig
from proxy.iscsi.portals import Portal
from proxy.net.forward import Forward
from proxy.net.listener import bind
from proxy.net.peer import Peer
from proxy.net.tasks import Run
from proxy.observe.snapshot import OnDemandStatus
from proxy.observe.watch import STANDSTILL
from proxy.protocol.codes import Capability

log = logging.getLogger(__name__)

_WARNINGS_MAX = 256
"""Different warnings that are logged, each once."""


class OnDemand:
    """A forward to one portal, and when it was last in use."""

    def __init__(self, forward: Forward, now: float) -> None:
        self.forward = forward
        self._asked = now

    def touch(self, now: float) -> None:
        """A target has named its portal."""
        self._asked = now

    def idle(self, now: float) -> float:
        """Seconds since it was last in use."""
        if self.forward.streams or self.forward.stirred():
            self._asked = now
        return now - self._asked

    def close(self) -> None:
        """Accept no more; live connections go on."""
        self.forward.close()


class Portals:
    """The portals of one peer's targets, as this site's initiators reach them. Loop thread."""

    def __init__(
        self, peer: Peer, forwards: Sequence[ForwardConfig], run: Run, clock: Callable[[], float] | None = None
    ) -> None:
        """`forwards`: those to that peer; `clock`: the loop's."""
        self.rewritten = 0
        """Addresses that were replaced."""
        self.passed = 0
        """Texts and addresses that passed as they were."""
        self._peer = peer
        self._run = run
        self._forwards = forwards
        self._standing = _standing(forwards)
        self._opened: dict[tuple[str, Address], OnDemand] = {}
        """By the forward whose address and ports they use, and portal. An initiator that reaches one forward's address
        need not reach another's, so a portal may be open by several."""
        self._full: dict[str, str] = {}
        """Forwards that have no port left, and why; until this is emptied, each second, their ports are not tried."""
        self._closed = False
        self._warned: set[str] = set()
        self._now = clock or asyncio.get_running_loop().time
        self._sampled = self._now()

    def change(self, forwards: Sequence[ForwardConfig]) -> None:
        """Those forwards lead to the peer from now on. What was opened on demand by one that is gone, or leads
        elsewhere, is closed."""
        before, named = self._forwards, {each.name: each for each in forwards}
        self._forwards, self._standing = forwards, _standing(forwards)
        ended = {each.name for each in before if leads_elsewhere(each, named.get(each.name))}
        for name, address in [key for key in self._opened if key[0] in ended]:
            self._opened.pop((name, address)).close()

    def seen_by(self, forward: ForwardConfig) -> "Callable[[str], Redirection | None]":
        """What replaces addresses in a forward's connections, as a function of the local address that the initiator
        connected to; it returns None if addresses are to pass."""
        rewrites = forward.rewrite and not forward.transparent
        return lambda host: Redirection(self, forward, host) if rewrites else None

    def find(self, address: Address, forward: ForwardConfig, host: str) -> Address | None:
        """Where initiators that reached a forward at `host` can reach that portal; None if they cannot."""
        standing = self._standing.get(address)
        listen = self._on_demand(address, forward) if standing is None else standing.listen
        told = None if listen is None else _told(listen, host)
        if listen is not None and told is None:
            self.warn(f"{address} passes as it is: {listen} is not reached from {host}; {_AROUND}")
        return told

    def warn(self, words: str) -> None:
        """Count a text or address that passes, and log it: once for the same words, `_WARNINGS_MAX` times at most."""
        self.passed += 1
        if words in self._warned or len(self._warned) > _WARNINGS_MAX:
            return
        self._warned.add(words)
        more = "" if len(self._warned) <= _WARNINGS_MAX else " (no others of this peer are told)"
        log.warning("portals of %s: %s%s", self._peer.name, words, more)

    def sample(self) -> None:
        """Once a second: close forwards on demand that have long been idle. Time in which the site stood still does not
        count."""
        now = self._now()
        stood_still, self._sampled = now - self._sampled > STANDSTILL, now
        self._full.clear()
        for (name, address), opened in list(self._opened.items()):
            if stood_still:
                opened.touch(now)
            if opened.idle(now) >= opened.forward.config.idle:
                log.info("forward %s to %s closes, nobody asked for it", name, address)
                opened.close()
                del self._opened[name, address]

    def close(self) -> None:
        """Open nothing more, and accept nothing; live connections go on."""
        self._closed = True
        for opened in self._opened.values():
            opened.close()

    def status(self) -> list[OnDemandStatus]:
        """The forwards that are open on demand."""
        now = self._now()
        return [
            OnDemandStatus(
                forward=opened.forward.config.name,
                portal=str(address),
                listen=str(opened.forward.listen),
                streams=opened.forward.streams,
                accepted=opened.forward.accepted,
                idle_seconds=round(opened.idle(now), 1),
            )
            for (_, address), opened in self._opened.items()
        ]

    def _on_demand(self, address: Address, forward: ForwardConfig) -> Address | None:
        """Where the forward on demand to that portal listens; it is opened if there is none.

        If it cannot be opened, None, after a warning that says why.
        """
        config = next((each for each in (forward, *self._forwards) if _covers(each, address)), None)
        if config is not None and (opened := self._opened.get((config.name, address))):
            opened.touch(self._now())
            return opened.forward.listen
        if config is None:
            self.warn(f'{address} passes as it is: {_AROUND}; give a forward portal = "{address}", or range and ports')
        elif not self._peer.tunnel.agreed(Capability.PORTALS):
            self.warn(f"{address} passes as it is: the peer's version knows no ranges; {_AROUND}; update it")
        elif not self._closed:
            return self._open(config, address)
        return None

    def _open(self, config: ForwardConfig, address: Address) -> Address | None:
        bound = None if config.name in self._full else self._bind(config, address)
        if bound is None:
            words = f"forward {config.name} can have none of its ports {config.ports} ({self._full[config.name]})"
            self.warn(f"{address} passes as it is: {words}; {_AROUND}; give it more ports, or a shorter idle")
            return None
        listener, listen = bound
        forward = Forward(config, self._peer, listener, self.seen_by(config), portal=address, listen=listen)
        forward.begin(self._run)
        self._opened[config.name, address] = OnDemand(forward, self._now())
        log.info("forward %s to %s opened on demand on %s", config.name, address, listen)
        return listen

    def _bind(self, config: ForwardConfig, address: Address) -> tuple[socket.socket, Address] | None:
        """A listener on the portal's port, or on another one that is free. If none is, None, and `_full` says why."""
        assert config.range is not None
        assert config.ports is not None
        taken = {each.forward.listen for each in self._opened.values()}
        why = "all are in use"
        for port in config.ports.beginning_at(config.range.place(address)):
            listen = Address(config.listen.host, port)
            if listen in taken:
                continue
            try:
                return bind(listen), listen
            except OSError as error:
                why = error.strerror or str(error)
        self._full[config.name] = why
        return None


class Redirection:
    """Implements `NearPortals` for one connection."""

    def __init__(self, portals: Portals, forward: ForwardConfig, host: str) -> None:
        """`host`: the address of this site that the initiator reached."""
        self._portals = portals
        self._forward = forward
        self._host = host

    def instead(self, named: Portal) -> Portal | None:
        """This side's address of the portal."""
        found = self._portals.find(Address(*named), self._forward, self._host)
        return None if found is None else Portal(*found)

    def replaced(self, number: int) -> None:
        """So many addresses of a text were replaced."""
        self._portals.rewritten += number

    def passed(self, reason: str) -> None:
        """A text passes as it is."""
        words = f"a target's text passes forward {self._forward.name} as it is ({reason}): a portal that it names"
        self._portals.warn(f"{words} is not replaced, and {_AROUND}; give initiators this side's address by hand")


_AROUND = "traffic to it will go around the proxy"


def _standing(forwards: Sequence[ForwardConfig]) -> dict[Address, ForwardConfig]:
    """By the portal that each stands for."""
    return {_folded(each.portal): each for each in forwards if each.portal is not None}


def _covers(config: ForwardConfig, address: Address) -> bool:
    return config.range is not None and config.ports is not None and config.range.covers(address)


def _folded(address: Address) -> Address:
    """With the host in lower case, as `parse_portal` gives it."""
    return address._replace(host=address.host.lower())


def _told(listen: Address, host: str) -> Address | None:
    """The address to be told to an initiator that reached this site at `host`; None if it cannot reach `listen`."""
    bare = listen._replace(host=listen.host.partition("%")[0])
    reached = Address(host.partition("%")[0], listen.port)
    assert bare.ip is not None
    if not bare.ip.is_unspecified:
        return bare
    return reached if reached.ip is not None and reached.ip.version == bare.ip.version else None
