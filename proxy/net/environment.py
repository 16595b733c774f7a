"""What all peers of a site share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from dedupstore.chunker import Chunker
from proxy.config.model import Export, SiteConfig
from proxy.net.sockets import congestion_control
from proxy.net.turns import Turns
from proxy.net.worker import StoreWorker
from proxy.observe.processor import Processor
from proxy.protocol.settings import TunnelSettings
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.load import CompressionLoad


@dataclass(slots=True)
class Environment:
    """Built once by the site, which alone changes it (`adopt`, `ask_kernel`)."""

    config: SiteConfig
    """By which the site runs at present."""
    worker: StoreWorker
    chunker: Chunker
    software: str
    processor: Processor
    turns: Turns
    proves: Callable[[str, bytes, dict[str, object]], bool]
    """`Certificates.proves`: whether a certificate is that peer's at present."""
    load: CompressionLoad = field(default_factory=CompressionLoad)
    beginnings: Beginnings = field(default_factory=Beginnings)
    writers: Iterator[int] = field(default_factory=count)
    """Gives each stream a number, by which the store keeps together the chunks that one stream brings."""
    exports: dict[str, Export] = field(init=False)
    """By name."""
    tunnel_settings: TunnelSettings = field(init=False)
    """Of each tunnel."""
    congestion_control: str = field(init=False)
    """As for `Lane.congest`."""

    def __post_init__(self) -> None:
        self.adopt(self.config)
        self.ask_kernel()

    def adopt(self, config: SiteConfig) -> None:
        """Run by that configuration from now on. What has learned of the former one has to be told."""
        self.config = config
        self.exports = {export.name: export for export in config.exports}
        self.tunnel_settings = tunnel_settings(config)

    def ask_kernel(self) -> None:
        """The configuration was read anew, or the kernel may have learned another congestion control."""
        self.congestion_control = congestion_control(self.config.tunnel.congestion_control)


def tunnel_settings(config: SiteConfig) -> TunnelSettings:
    """The settings of each tunnel. Never raises Misuse for a configuration that was accepted."""
    tunnel = config.tunnel
    peers = max(1, len(config.peers))  # memory is configured for the whole site, of which each tunnel has its part
    return TunnelSettings(
        window_max=tunnel.window,
        memory=tunnel.memory // peers,
        unacked_max=tunnel.unacked // peers,
        streams=tunnel.streams,
        keepalive=tunnel.keepalive,
        dead_after=tunnel.dead_after,
        grace=tunnel.grace,
    )
