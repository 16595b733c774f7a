"""The peers of a site: those that its file names, which may be others while it runs, and who dials them."""

import logging
from collections.abc import Iterator, Mapping

from proxy.config.model import Peer as PeerConfig
from proxy.net.dialler import Dialler
from proxy.net.environment import Environment
from proxy.net.peer import Peer
from proxy.net.tasks import Run
from proxy.net.tls import Certificates
from proxy.protocol.codes import CloseCode, ResetCode

log = logging.getLogger(__name__)


class Peers(Mapping[str, Peer]):
    """By name, in the order of the file. Loop thread."""

    def __init__(self, environment: Environment, certificates: Certificates, run: Run) -> None:
        self._environment = environment
        self._certificates = certificates
        self._run = run
        self._peers = {own.name: Peer(environment, own) for own in environment.config.peers}
        self._diallers: dict[str, Dialler] = {}
        self._parting: list[Peer] = []
        """Those that were dismissed, while arrays have not taken the last bytes of streams that had ended in order."""

    def __getitem__(self, name: str) -> Peer:
        return self._peers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._peers)

    def __len__(self) -> int:
        return len(self._peers)

    def begin(self) -> None:
        """Dial those that have an address, from now on."""
        for peer in self._peers.values():
            self._dial(peer)

    @property
    def busy(self) -> bool:
        """True while an array may still get something, be it of a peer that was dismissed."""
        return any(peer.busy for peer in (*self._peers.values(), *self._parting))

    def sample(self) -> None:
        """Once a second."""
        for peer in self._peers.values():
            peer.sample()
        for relay in [relay for peer in self._parting for relay in peer.relays.leaving]:
            relay.sample()
        self._parting = [peer for peer in self._parting if peer.busy]

    def change(self) -> None:
        """Those that the site's file names from now on: it has been taken over. The streams of others are reset."""
        named = {own.name: own for own in self._environment.config.peers}
        for name in self._peers.keys() - named.keys():
            self._dismiss(name)
        self._peers = {name: self._kept(own) or self._met(own) for name, own in named.items()}

    def review(self) -> None:
        """Certificates were read anew, the kernel was asked again, and perhaps what kept peers away is over."""
        for peer in self._peers.values():
            peer.review(self._certificates.removed(peer.name))
        for dialler in self._diallers.values():
            dialler.hurry()

    def _kept(self, own: PeerConfig) -> Peer | None:
        peer = self._peers.get(own.name)
        if peer is not None:
            peer.change(own)
        return peer

    def _met(self, own: PeerConfig) -> Peer:
        peer = Peer(self._environment, own)
        self._dial(peer)
        return peer

    def _dial(self, peer: Peer) -> None:
        environment = self._environment
        dialler = self._diallers[peer.name] = Dialler(
            peer,
            self._certificates,
            connect_timeout=lambda: environment.config.tunnel.connect_timeout,
            pause_max=lambda: environment.config.tunnel.reconnect_max,
        )
        dialler.begin(self._run)

    def _dismiss(self, name: str) -> None:
        reason = f"{self._environment.config.site.name} has {name} in its file no more"
        log.info("%s is no peer any more: its streams are reset, and its lanes end", name)
        self._diallers.pop(name).close(reason)
        self._peers[name].end(CloseCode.SHUTDOWN, reason, ResetCode.SHUTDOWN)
        self._parting.append(self._peers[name])
