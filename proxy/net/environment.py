"""What all peers of a site share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from dedupstore.chunker import Chunker
from proxy.config.model import Export, SiteConfig
from proxy.net.turns import Turns
from proxy.net.worker import StoreWorker
from proxy.observe.processor import Processor
from proxy.protocol.settings import TunnelSettings
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.load import CompressionLoad


@dataclass(frozen=True, slots=True)
class Environment:
    """Built once by the site."""

    config: SiteConfig
    """As the site was started with. Rates, forwards and exports may be others by now (`Site.config`)."""
    worker: StoreWorker
    chunker: Chunker
    tunnel_settings: TunnelSettings
    exports: dict[str, Export]
    """By name, as they are at present."""
    software: str
    processor: Processor
    turns: Turns
    proves: Callable[[str, bytes, dict[str, object]], bool]
    """`Certificates.proves`: whether a certificate is that peer's at present."""
    load: CompressionLoad = field(default_factory=CompressionLoad)
    beginnings: Beginnings = field(default_factory=Beginnings)
    writers: Iterator[int] = field(default_factory=count)
    """Gives each stream a number, by which the store keeps together the chunks that one stream brings."""
