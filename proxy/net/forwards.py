"""The forwards of a site: those that its file names, which may change while it runs, and those open on demand."""

import socket
from collections.abc import Iterable, Mapping, Sequence

from proxy.config.addresses import Address
from proxy.config.model import Forward as ForwardConfig
from proxy.net.forward import Forward
from proxy.net.peer import Peer
from proxy.net.portals import Portals
from proxy.net.tasks import Run


class Forwards:
    """Loop thread."""

    def __init__(self, peers: Mapping[str, Peer], configs: Sequence[ForwardConfig], run: Run) -> None:
        """`configs`: as `begin` will have them."""
        self.portals = {name: Portals(peer, _to(name, configs), run) for name, peer in peers.items()}
        """By peer."""
        self._peers = peers
        self._run = run
        self._standing: dict[Address, Forward] = {}
        """By where they listen."""

    def begin(self, configs: Iterable[ForwardConfig], listeners: Iterable[socket.socket]) -> None:
        """Accept by those forwards as well; each has its listener, which is bound and listening."""
        for config, listener in zip(configs, listeners, strict=True):
            portals = self.portals[config.peer].seen_by(config)
            forward = self._standing[config.listen] = Forward(config, self._peers[config.peer], listener, portals)
            forward.begin(self._run)

    def unheard(self, configs: Iterable[ForwardConfig]) -> list[ForwardConfig]:
        """Those of them at whose addresses nobody listens yet."""
        return [each for each in configs if each.listen not in self._standing]

    def change(self, configs: Sequence[ForwardConfig], listeners: Iterable[socket.socket]) -> None:
        """Accept by those forwards from now on, and by no others; live connections go on.

        `listeners`: for those that `unheard` gives.
        """
        for name in self.portals.keys() - self._peers.keys():
            self.portals.pop(name).close()
        for name, peer in self._peers.items():
            if name in self.portals:
                self.portals[name].change(_to(name, configs))
            else:
                self.portals[name] = Portals(peer, _to(name, configs), self._run)
        beginning, kept = self.unheard(configs), {each.listen: each for each in configs}
        for listen in [each for each in self._standing if each not in kept]:
            self._standing.pop(listen).close()
        for listen, forward in self._standing.items():
            config = kept[listen]
            forward.lead(config, self._peers[config.peer], self.portals[config.peer].seen_by(config))
        self.begin(beginning, listeners)

    def close(self) -> None:
        """Accept nothing more; live connections go on."""
        for forward in self._standing.values():
            forward.close()
        for portals in self.portals.values():
            portals.close()

    def sample(self) -> None:
        """Once a second."""
        for portals in self.portals.values():
            portals.sample()


def _to(peer: str, configs: Iterable[ForwardConfig]) -> list[ForwardConfig]:
    return [each for each in configs if each.peer == peer]
